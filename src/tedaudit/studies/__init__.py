"""Whole questions that are asked through audits: which pairs of texts and which records are worst off."""
