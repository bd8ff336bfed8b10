"""WebShop: its speed and memory, and its pages and rewards beside those of the original."""
