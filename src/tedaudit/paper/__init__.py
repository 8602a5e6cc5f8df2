"""The figures and tables of the paper as commands: one YAML file each, run at one of three scales."""
