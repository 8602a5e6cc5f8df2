"""Show a run to a reader: tables, files, figures and pages."""
