"""Text rewriters to audit, one per file."""
