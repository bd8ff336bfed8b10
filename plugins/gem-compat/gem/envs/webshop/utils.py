"""The draw of a goal. ``WebshopEnv`` has no server and no browser."""

import bisect
import random
from collections.abc import Sequence

from gem.requirements import absent
from gem_core.errors import ConfigError

__all__ = ["random_idx"]

__getattr__ = absent(
    __name__,
    ["SimBrowser", "SimServer"],
    "simulated server of WebShop",
    "WebshopEnv works without one: catalogue has its products and goals, visit the place of the "
    "customer, page what is shown, and actions() what can be done.",
)


def random_idx(cum_weights: Sequence[float], rng: random.Random | None = None) -> int:
    """Return an index, drawn as often as its weight says.

    Args:
        cum_weights: The running sums of the weights, with or without a 0 before them.
        rng: The generator; None for the global one.

    Raises:
        ConfigError: The sum is not above 0.
    """
    if not len(cum_weights) or not cum_weights[-1] > 0:
        raise ConfigError(f"The sum of the weights must be above 0; got {list(cum_weights)!r}.")
    first = int(cum_weights[0] == 0)
    drawn = (rng or random).random() * cum_weights[-1]
    # The last sum is left out, so that rounding never leads beyond the last index.
    return bisect.bisect_right(cum_weights, drawn, first, len(cum_weights) - 1) - first
