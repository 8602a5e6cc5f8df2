"""From counts to bounds: pure mathematics, usable alone."""
