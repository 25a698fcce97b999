"""Act: the catalogue of MCP clients, their files, byte-exact edits of them and the way back."""
