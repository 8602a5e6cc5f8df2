"""Measure, by attack, how private a text rewriter really is."""

__version__ = "0.1.0"
