"""Text rewriters to audit; one a file."""
