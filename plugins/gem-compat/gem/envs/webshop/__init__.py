"""WebShop, which gem-core does not have yet."""
