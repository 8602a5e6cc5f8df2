"""Texts as strings: their characters and words, the files they come in, and what JSON holds of values."""
