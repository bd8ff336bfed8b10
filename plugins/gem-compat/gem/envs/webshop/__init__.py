"""WebShop."""
