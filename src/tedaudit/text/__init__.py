"""Texts as strings: their characters and words, and the files they come in."""
