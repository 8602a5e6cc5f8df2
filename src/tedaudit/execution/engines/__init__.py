"""Where chunks of model work are done: in this process, or in others."""
