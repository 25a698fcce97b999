"""Prove: the MCP handshake and the canaries that a confined server must be denied."""
