"""WebShop, which gem-core does not have yet."""

from gem.requirements import absent

__getattr__ = absent(__name__, ["SimServer", "SimBrowser", "random_idx"], "WebShop")
