"""Writes the pages of the Python API: what mkdocstrings is to show, and in which order."""

import ast
import functools
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gem_core.plugins import default_registry
from gem_core.specs import COMMANDS, ENVS, FAMILIES, AgentSpec

__all__ = ["LIBRARIES", "PLUGINS", "api_page", "places", "plugins_page", "registered"]

LIBRARIES = {
    "gem_core": (
        "gem_core.agent",
        "gem_core.background",
        "gem_core.calls",
        "gem_core.config",
        "gem_core.content",
        "gem_core.env",
        "gem_core.errors",
        "gem_core.factory",
        "gem_core.info",
        "gem_core.lifetimes",
        "gem_core.plugins",
        "gem_core.specs",
        "gem_core.testing",
        "gem_core.vector",
    ),
    "gem_rollout": (
        "gem_rollout.commands",
        "gem_rollout.commands.suites",
        "gem_rollout.episodes.components",
        "gem_rollout.episodes.processes",
        "gem_rollout.episodes.report",
        "gem_rollout.episodes.rollout",
        "gem_rollout.models.registered",
        "gem_rollout.models.tiny_model",
        "gem_rollout.multi_agent.env",
        "gem_rollout.records.store",
        "gem_rollout.testing",
        "gem_rollout.tokens.agent",
        "gem_rollout.tokens.chat_content",
        "gem_rollout.tokens.dataset_rows",
        "gem_rollout.tokens.limits",
        "gem_rollout.tokens.reply",
        "gem_rollout.tokens.sampler",
        "gem_rollout.tokens.sequences",
    ),
    "gem_tasks": (
        "gem_tasks.dataset_spec",
        "gem_tasks.function_tool",
        "gem_tasks.grader",
        "gem_tasks.judge",
        "gem_tasks.rows",
    ),
    "gem_workers": (
        "gem_workers.base_sandbox",
        "gem_workers.cancellation",
        "gem_workers.machine",
        "gem_workers.pools",
        "gem_workers.sandbox",
        "gem_workers.testing",
        "gem_workers.vector_workers",
    ),
}
"""The core and the libraries: everything in ``__all__`` is public, and so are these modules."""
PLUGINS = {
    "gem_adapters.testing": ("gem_adapters.testing.adapters",),
    "gem_agents": (
        "gem_agents.local_model",
        "gem_agents.template_checks",
        "gem_agents.testing.endpoint_server",
    ),
    "gem_eval": ("gem_eval.compare", "gem_eval.metrics", "gem_eval.paired", "gem_eval.statistics"),
    "gem_train": (
        "gem_train.algorithm",
        "gem_train.batch",
        "gem_train.checks",
        "gem_train.curriculum",
        "gem_train.filters",
        "gem_train.loss",
        "gem_train.make_model",
        "gem_train.objective",
        "gem_train.parts",
        "gem_train.plots",
        "gem_train.returns",
        "gem_train.shapers",
        "gem_train.specs",
        "gem_train.transitions",
    ),
    "gem_tools": ("gem_tools.mcp", "gem_tools.python"),
    "gem_sandbox": (),
}
"""Plugins with an API: their ``__all__``, these modules, and whatever they register."""


def api_page() -> Iterator[str]:
    """Yield the page of the core and the libraries."""
    yield "# Python API\n\nThe plugins have [a page of their own](api-plugins.md).\n"
    yield from _packages(LIBRARIES)


def plugins_page() -> Iterator[str]:
    """Yield the page of the plugins."""
    yield "# Python API of the plugins\n\nThe core and the libraries: [Python API](api.md).\n"
    yield from _packages(PLUGINS)


def _packages(packages: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for package, modules in packages.items():
        yield f"## {package}\n"
        found = [place for module in (package, *modules) for place in places(module)]
        for place in dict.fromkeys([*found, *registered(package)]):
            yield f"::: {place}\n"


def places(module: str) -> list[str]:
    """Return the place of each name in a module's ``__all__``.

    Modules are read and not imported, because some need torch.
    """
    names = [name for name in _read(module)[0] if not name.startswith("__")]
    return [_place(module, name) for name in sorted(names)]


def _place(module: str, name: str) -> str:
    """Return where a name is defined, following imports within gem-core."""
    origin = _read(module)[1].get(name)
    return f"{module}.{name}" if origin is None else _place(*origin)


@functools.cache
def _read(module: str) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """Return ``__all__`` of a module, and where it imports names of gem-core from."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"There is no module {module}.")
    exported: list[str] = []
    imported = {}
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gem_"):
            names = {one.asname or one.name: one.name for one in node.names}
            imported |= {mine: (str(node.module), name) for mine, name in names.items()}
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and _is_all(node):
            exported += ast.literal_eval(node.value) if node.value else []
    return exported, imported


def _is_all(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets)


def registered(package: str) -> list[str]:
    """Return the places of the tools, wrappers, agents, ... that a package registers."""
    registry = default_registry()
    left_out = (COMMANDS, ENVS, FAMILIES)
    found = {
        _place(*spec.entry_point.split(":"))
        for kind in registry.kinds()
        if kind not in left_out
        for spec in registry.list(kind)
        if str(spec.entry_point).startswith(f"{package}.") and not _is_left_out(spec)
    }
    return sorted(found)


def _is_left_out(spec: Any) -> bool:
    """Return whether this is an agent for one environment."""
    return isinstance(spec, AgentSpec) and spec.env is not None
