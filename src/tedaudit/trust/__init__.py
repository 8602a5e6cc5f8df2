"""What makes a verdict worth trusting: leaks with a name, lint, gates in a test suite."""
