"""WebShop for gem-core: find a product by search, choose its options, and buy it."""
