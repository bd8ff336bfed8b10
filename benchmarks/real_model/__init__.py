"""A pretrained language model, trained in a few environments."""
