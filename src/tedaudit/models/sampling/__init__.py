"""Draws from a model's logits: the exponential mechanism, how probable a draw is, and how probable a text."""
