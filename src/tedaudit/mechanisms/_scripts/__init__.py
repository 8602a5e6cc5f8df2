"""Scripts that run in another virtual environment, beside a package that cannot live in ours.

They import neither tedaudit nor each other's packages, and run on Python 3.9 or later.
"""
