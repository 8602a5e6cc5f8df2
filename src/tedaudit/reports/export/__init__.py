"""Results as data: frames, files for other programs with published schemas, tables for a paper."""
