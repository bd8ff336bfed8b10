"""Services in which tasks take place: each has a module here, or in another plugin."""

from gem_tools.mcpmark.services.service import Service, make_service

__all__ = ["Service", "make_service"]
