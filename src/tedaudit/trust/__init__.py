"""What makes a verdict worth trusting: leaks with a name, lint, planted flaws, the tool's own test."""
