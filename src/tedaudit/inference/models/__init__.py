"""Models: what an adapter makes of one, which can be fetched and how, and the zoo."""
