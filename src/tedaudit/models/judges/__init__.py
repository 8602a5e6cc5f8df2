"""Language models that answer questions about texts: in this process, or behind a server."""
