"""Which texts are compared with which, and which of them is rewritten."""
