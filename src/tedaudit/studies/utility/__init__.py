"""Measure the utility of rewritten texts: train classifiers on them and test on clean text."""
