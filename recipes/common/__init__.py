"""What the recipes share: public text, the shared vocabulary, the training loop, saving with a card."""
