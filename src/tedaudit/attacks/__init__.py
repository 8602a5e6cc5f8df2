"""Adversaries that name the source of a rewritten text; one a file."""
