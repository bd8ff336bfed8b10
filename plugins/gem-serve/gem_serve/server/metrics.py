"""What a server counts."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)

__all__ = ["Metrics"]

_BOUNDS = (0.001, 0.01, 0.1, 1.0, 10.0)
_HELP = {
    "opened": "Sessions that were opened.",
    "closed": "Sessions that were closed, also after a time without messages.",
    "expired": "Sessions that were closed after a time without messages.",
    "refused": "Sessions that were refused because the server was full.",
    "parked": "Sessions that gave their slot to others between two episodes.",
    "episodes": "Episodes that were begun.",
    "steps": "Steps that were taken.",
    "repeated": "Messages that were answered from memory, after a lost connection.",
    "messages": "Messages of clients.",
}


@dataclass
class Metrics:
    """The counts since the server began."""

    opened: int = 0
    closed: int = 0
    expired: int = 0
    refused: int = 0
    parked: int = 0
    repeated: int = 0
    messages: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    episodes_of: Counter[str] = field(default_factory=Counter)
    """Episodes that were begun, by environment."""
    steps_of: Counter[str] = field(default_factory=Counter)
    """Steps that were taken, by environment."""
    seconds_of: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds that these steps took, by environment."""
    _buckets: list[int] = field(default_factory=lambda: [0] * len(_BOUNDS))

    @property
    def episodes(self) -> int:
        """Episodes that were begun."""
        return self.episodes_of.total()

    @property
    def steps(self) -> int:
        """Steps that were taken."""
        return self.steps_of.total()

    def begun(self, env: str) -> None:
        """Count an episode of an environment."""
        self.episodes_of[env] += 1

    def stepped(self, env: str, seconds: float) -> None:
        """Count a step that took some seconds in its environment."""
        self.steps_of[env] += 1
        self.seconds_of[env] += seconds
        for position, bound in enumerate(_BOUNDS):
            self._buckets[position] += seconds <= bound

    def families(self, **now: float) -> Iterator[Metric]:
        """Yield all counts.

        Args:
            now: Values that go up and down, by name.
        """
        for name, value in now.items():
            yield GaugeMetricFamily(f"gem_{name}", "", value)
        for name, about in _HELP.items():
            yield CounterMetricFamily(f"gem_{name}", about, getattr(self, name))
        yield _by("env", "gem_env_episodes", self.episodes_of)
        yield _by("env", "gem_env_steps", self.steps_of)
        yield _by("env", "gem_env_step_seconds", self.seconds_of)
        yield _by("type", "gem_errors", self.errors)
        bounds = [*(f"{bound:g}" for bound in _BOUNDS), "+Inf"]
        buckets = list(zip(bounds, [*self._buckets, self.steps], strict=True))
        seconds = sum(self.seconds_of.values())
        yield HistogramMetricFamily("gem_step_seconds", "", buckets=buckets, sum_value=seconds)


def _by(label: str, name: str, counts: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(name, "", labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family
