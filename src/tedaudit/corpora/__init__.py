"""Where the audited texts come from; one loader a file."""
