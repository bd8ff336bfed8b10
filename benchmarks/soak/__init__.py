"""The suite ``soak``."""
