"""Runs an audit: prepares it, plans its trials, does the model work and stores the rows."""
