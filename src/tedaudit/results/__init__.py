"""Reads the tables of a run and says what they show; loads no model."""
