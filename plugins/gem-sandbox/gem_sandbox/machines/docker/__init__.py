"""The provider ``docker``: machines that are containers."""
