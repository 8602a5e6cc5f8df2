"""Sections in every form: each writer knows sections and no result."""
