"""Subject-verb-object triples: extracted from texts, stored in a public table, drawn, turned into text."""
