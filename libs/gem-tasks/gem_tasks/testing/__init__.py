"""A dataset hub on loopback, for tests."""
