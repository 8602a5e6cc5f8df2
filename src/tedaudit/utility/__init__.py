"""What rewritten texts are still good for: classifiers trained on them and tested on clean text."""
