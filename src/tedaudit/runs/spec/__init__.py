"""The settings of an audit, from YAML, flags or Python."""
