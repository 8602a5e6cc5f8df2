"""What rewritten texts are still good for at equal measured privacy."""
