"""Tasks at a terminal."""
