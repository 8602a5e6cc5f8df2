"""A release without code or claim: a table of originals and rewrites, and what can be found out from it.

How many rewrites lead back to their original among all originals (linkability), how sure an adversary can be
of it (singling out), what the rewrites tell of a private column (inference), and bounds on epsilon.
"""
