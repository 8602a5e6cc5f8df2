"""The version of tedaudit, which every result file names."""

__version__ = "0.1.0"
