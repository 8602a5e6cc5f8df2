"""Texts as vectors: n-grams, and sentence encoders by name."""
