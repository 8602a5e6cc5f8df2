"""Where the audited texts come from, one loader per file."""
