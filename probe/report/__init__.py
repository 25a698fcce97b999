"""Show: text and JSON from a verdict."""
