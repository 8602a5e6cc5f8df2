"""The run directory: the only place that knows a path inside a run."""
