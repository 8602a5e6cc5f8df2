"""Scripts that run in another virtual environment, beside a package that cannot live in ours.

They do not import tedaudit, and run on Python 3.9 or later.
"""
