"""Leaks with a name: a battery of small tests, each of which tells what a rewrite gives away."""
