"""Sections in every form, and the kit that draws figures: no writer knows a result."""
