"""A plugin that needs what is not installed."""

import no_such_dependency  # type: ignore[import-not-found]

__all__ = ["no_such_dependency"]
