"""Subject-verb-object triples: found in texts, kept as a public table, drawn by chance, written out again."""
