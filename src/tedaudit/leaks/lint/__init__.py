"""What is wrong with a mechanism as far as it can be seen without a sample."""
