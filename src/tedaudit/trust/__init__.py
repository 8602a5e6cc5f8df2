"""What makes a verdict worth trusting: leaks with a name, planted flaws, the tool's own test."""
