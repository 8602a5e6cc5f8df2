"""The figures and tables of the paper as commands: a YAML file each, run at one of three scales."""
