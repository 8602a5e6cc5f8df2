"""What an audit would cost and could show, before it is run: a dry run."""
