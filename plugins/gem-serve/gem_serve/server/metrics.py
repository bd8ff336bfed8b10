"""What a server counts, in the text format of Prometheus (version 0.0.4)."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

__all__ = ["Metrics"]

_BOUNDS = (0.001, 0.01, 0.1, 1.0, 10.0)
_HELP = {
    "opened": "Sessions that were opened.",
    "closed": "Sessions that were closed, also after a time without messages.",
    "expired": "Sessions that were closed after a time without messages.",
    "refused": "Sessions that were refused because the server was full.",
    "parked": "Sessions that gave their place to others between two episodes.",
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

    def text(self, **now: float) -> str:
        """Return all counts as Prometheus reads them.

        Args:
            now: Values that go up and down, by name.
        """
        lines = []
        for name, value in now.items():
            lines += [f"# TYPE gem_{name} gauge", f"gem_{name} {value:g}"]
        for name, about in _HELP.items():
            lines += [f"# HELP gem_{name}_total {about}", f"# TYPE gem_{name}_total counter"]
            lines.append(f"gem_{name}_total {getattr(self, name)}")
        for name, counts in (
            ("episodes", self.episodes_of),
            ("steps", self.steps_of),
            ("step_seconds", self.seconds_of),
        ):
            lines.append(f"# TYPE gem_env_{name}_total counter")
            lines += [f"gem_env_{name}_total{_label(env)} {n:.12g}" for env, n in counts.items()]
        lines.append("# TYPE gem_errors_total counter")
        lines += [f'gem_errors_total{{type="{kind}"}} {n}' for kind, n in self.errors.items()]
        lines.append("# TYPE gem_step_seconds histogram")
        pairs = zip(_BOUNDS, self._buckets, strict=True)
        lines += [f'gem_step_seconds_bucket{{le="{bound:g}"}} {n}' for bound, n in pairs]
        lines.append(f'gem_step_seconds_bucket{{le="+Inf"}} {self.steps}')
        lines += [
            f"gem_step_seconds_sum {sum(self.seconds_of.values()):g}",
            f"gem_step_seconds_count {self.steps}",
        ]
        return "\n".join(lines) + "\n"


def _label(env: str) -> str:
    escaped = env.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{env="{escaped}"}}'
