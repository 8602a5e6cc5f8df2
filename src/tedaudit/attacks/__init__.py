"""Adversaries that guess the source of a rewritten text, one per file."""
