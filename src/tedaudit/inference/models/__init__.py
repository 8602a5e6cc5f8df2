"""Models: which can be fetched and how, where they lie, what an adapter makes of one, and the zoo."""
