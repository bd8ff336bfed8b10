"""verl: an agent loop that plays environments, its YAML, and the columns of a dataset.

Give verl the path of the YAML, and name the loop ``gem`` in the column ``agent_name``::

    actor_rollout_ref.rollout.agent.agent_loop_config_path=$(python -m gem_adapters.verl)
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_adapters.verl.options import LoopOptions

if TYPE_CHECKING:
    from gem_adapters.verl.agent_loop import GemAgentLoop

__all__ = ["GemAgentLoop", "LoopOptions", "agent_loop_config", "write_agent_loop_config"]

NAME = "gem"
"""The name of the agent loop, in its YAML and in the rows."""


def agent_loop_config() -> str:
    """Return the path of the YAML with the default options."""
    return str(Path(__file__).with_name("agent_loop.yaml"))


def write_agent_loop_config(path: str | Path, **options: Any) -> str:
    """Write a YAML with other options, and return its absolute path.

    Args:
        path: The file to write. All nodes must see it.
        **options: Fields of ``LoopOptions``, such as ``config=["tools=[python]"]``.

    Raises:
        ConfigError: An option is unknown or invalid.
    """
    target = "gem_adapters.verl.agent_loop.GemAgentLoop"
    given, defaults = asdict(LoopOptions.of(options)), asdict(LoopOptions())
    # verl reads them again for every episode, which takes a while for each of them.
    changed = {name: value for name, value in given.items() if value != defaults[name]}
    loop = {"name": NAME, "_target_": target, "options": changed}
    file = Path(path).absolute()
    file.write_text(json.dumps([loop], indent=2), encoding="utf-8")
    return str(file)


def __getattr__(name: str) -> Any:
    """Import the agent loop, and verl with it, when it is used."""
    if name == "GemAgentLoop":
        from gem_adapters.verl.agent_loop import GemAgentLoop  # noqa: PLC0415 - imports verl

        return GemAgentLoop
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
