"""Rewrites that leave the run: texts for release, and guesses of a run made again."""
