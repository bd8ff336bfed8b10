"""The suite ``serve``."""
