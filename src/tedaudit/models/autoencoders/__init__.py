"""Models that turn a text into numbers and back: BART and ADePT."""
