"""The tool's own test: rewriters that reveal nothing, known epsilons, planted flaws."""
