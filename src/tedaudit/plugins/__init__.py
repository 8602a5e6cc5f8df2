"""What plug-ins are: how they are found and built, what they can do, and what they need."""
