"""Leaks with a name, and what can be seen of a mechanism without a sample."""
