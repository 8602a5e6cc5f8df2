"""What a run looks like to a reader: tables, files, later figures and pages."""
