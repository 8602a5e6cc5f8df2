"""What a run needs before the first draw: settings checked, plans made, plug-ins built, work listed."""
