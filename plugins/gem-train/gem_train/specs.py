"""The kinds of specs of training: algorithms, losses, engines, curricula, filters, and so on.

Our own and those of other plugins are registered in the same way. An entry point is called with the
configured parameters and returns the object. Where an id is expected, ``module:NAME`` works too.
Plugins import this module when they are loaded, so it imports nothing heavy.
"""

from gem_core.specs import Kind, Spec

__all__ = ["ALGORITHMS", "CURRICULA", "ENGINES", "FILTERS", "LOSSES", "SHAPERS", "WRITERS"]

_CHECKS = "gem_train.checks"
ALGORITHMS: Kind[Spec] = Kind(
    id="algorithms",
    name="algorithm",
    description="advantages of turns or tokens",
    group="algo",
    by_entry_point=True,
    check=f"{_CHECKS}:check_algorithm",
)
"""Entry points return a ``gem_train.algorithm.Algorithm``."""
LOSSES: Kind[Spec] = Kind(
    id="losses",
    name="loss",
    description="losses of tokens",
    group="loss",
    by_entry_point=True,
    check=f"{_CHECKS}:check_loss",
)
"""Entry points return a ``gem_train.loss.Loss``."""
CURRICULA: Kind[Spec] = Kind(
    id="curricula",
    name="curriculum",
    description="shares of environments in a mixture",
    group="curriculum",
    given=1,
    by_entry_point=True,
    check=f"{_CHECKS}:check_curriculum",
)
"""Entry points take the sources and return a ``Curriculum``."""
FILTERS: Kind[Spec] = Kind(
    id="filters",
    name="filter",
    description="which groups of episodes are learned from",
    group="filters",
    several=True,
    by_entry_point=True,
    check=f"{_CHECKS}:check_filter",
)
"""Entry points return a ``gem_train.filters.EpisodeFilter``."""
SHAPERS: Kind[Spec] = Kind(
    id="shapers",
    name="shaper",
    description="changes of the rewards to learn from",
    group="shapers",
    several=True,
    by_entry_point=True,
    check=f"{_CHECKS}:check_shaper",
)
"""Entry points return a ``gem_train.shapers.RewardShaper``."""
ENGINES: Kind[Spec] = Kind(
    id="engines",
    name="engine",
    description="what samples in training",
    given=3,
    by_entry_point=True,
)
"""Entry points take ``(policy, config, folder)``, then their parameters, and return a
``gem_train.engines.Engine``."""
WRITERS: Kind[Spec] = Kind(
    id="writers",
    name="writer",
    description="where metrics are written",
    given=4,
    by_entry_point=True,
    check=f"{_CHECKS}:check_writer",
)
"""Entry points take ``(folder, run_name, config, resume_step)``, then their parameters, and return
a ``gem_train.metrics.Writer``. ``metadata["needs"]`` names a package that may be missing."""
