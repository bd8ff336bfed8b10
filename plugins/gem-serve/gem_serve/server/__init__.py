"""A server of environments: sessions over HTTP and WebSockets, for our and OpenEnv's clients."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_serve.server.app import EnvServer, make_app
    from gem_serve.server.limits import Limits

__all__ = ["EnvServer", "Limits", "make_app"]

__getattr__, __dir__ = lazy_names(
    __name__, {"app": ("EnvServer", "make_app"), "limits": ("Limits",)}
)
