"""Episodes as tokens, for trainers and models that sample them."""
