"""The interface of an algorithm: advantages from a batch, and what it needs for them.

An algorithm is one class in one file, and one spec in a plugin. Its parameters are the
arguments of the class, so a frozen dataclass is the shortest way to write one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from gem_core.errors import ConfigError
from gem_rollout import Trajectory

if TYPE_CHECKING:
    import torch

    from gem_train.batch import Batch

__all__ = ["Algorithm", "check_fraction"]


class Algorithm(ABC):
    """Base class of algorithms; only ``advantages`` must be written.

    The trainer calls ``filter_groups`` while it collects episodes. For each step it then calls
    ``shape_rewards``, ``on_batch``, ``advantages`` and, with a critic, ``targets``. All of them
    must be deterministic: a resumed run repeats them.
    """

    loss: ClassVar[str] = "clip"
    """The loss that its authors use: an id, or ``module:NAME``. ``loss=ID`` overrides it."""
    length_norm: ClassVar[Literal["constant", "response", "token"]] = "constant"
    """The length normalisation that its authors use (``gem_train.objective.loss_weights``)."""
    unit: ClassVar[Literal["turn", "episode"]] = "turn"
    """What a response is in the length normalisation."""
    needs_groups: ClassVar[bool] = False
    """Whether it compares episodes with one start state, and so needs groups of several."""
    needs_critic: ClassVar[bool] = False
    """Whether a critic is trained; ``batch.value`` has its values, and ``targets`` is called."""
    needs_reference: ClassVar[bool] = False
    """Whether ``batch.old_logprobs`` and ``batch.reference_logprobs`` are computed."""

    @abstractmethod
    def advantages(self, batch: "Batch") -> "torch.Tensor":
        """Return the advantage of each turn, (N,), or of each token, (S, L).

        Args:
            batch: The turns and tokens of whole episodes. Statistics belong over the turns
                ``batch.chosen``. Values where no token was sampled are ignored.
        """

    def targets(self, batch: "Batch") -> "torch.Tensor":
        """Return the critic's target for the state of each turn, (N,)."""
        raise ConfigError(f"{type(self).__name__} has a critic and no method targets(batch).")

    def filter_groups(self, groups: Sequence[Sequence[Trajectory]]) -> Sequence[bool]:
        """Return for each group whether it is learned from; see ``gem_train.filters``."""
        return [True] * len(groups)

    def shape_rewards(self, batch: "Batch") -> "torch.Tensor":
        """Return the reward of each turn to learn from, (N,); see ``gem_train.shapers``."""
        return batch.reward

    def on_batch(self, batch: "Batch") -> "Batch":
        """Return the batch to learn from, such as one with fewer turns in ``trained``.

        Rewards are shaped, and ``batch.value`` is known if there is a critic. Turns and rows must
        keep their number and order.
        """
        return batch


def check_fraction(**values: float) -> None:
    """Check that values of a configuration, given by name, are in [0, 1].

    Raises:
        ConfigError: A value is out of range.
    """
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ConfigError(f"{name} must be between 0 and 1, got {value!r}.")
