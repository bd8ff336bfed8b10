"""The pages of the Python API: which names each documents.

``docs/reference/PACKAGE/PAGE.md`` names its modules at its top, says what they are for, and has an
example. The site adds the public names of these modules and of those below them.
"""

import ast
import functools
import importlib.util
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from gem_core.plugins import default_registry
from gem_core.specs import COMMANDS, ENVS, FAMILIES, AgentSpec

__all__ = [
    "LIBRARIES",
    "PLUGINS",
    "index_page",
    "names_of",
    "navigation",
    "page_of",
    "pages",
    "public",
]

API = Path(__file__).parent / "reference"

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
    "gem_eval": (
        "gem_eval.anytime",
        "gem_eval.causes",
        "gem_eval.compare",
        "gem_eval.episodes",
        "gem_eval.metrics",
        "gem_eval.paired",
        "gem_eval.statistics",
        "gem_eval.why",
    ),
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
    "gem_tools": ("gem_tools.mcp", "gem_tools.python", "gem_tools.search", "gem_tools.specs"),
    "gem_sandbox": (),
}
"""Plugins with an API: their ``__all__``, these modules, and whatever they register."""


def index_page() -> Iterator[str]:
    """Yield a table of the pages of each package."""
    for package, written in groupby(pages(), key=lambda page: page.parent):
        yield f"## {package.name}\n\n| page | what it is about | names |\n|---|---|---|"
        for page in written:
            _, text = _parts(page)
            title, about = re.findall(r"^# (.*)\n\n((?:.+\n)+)", text, re.MULTILINE)[0]
            about = re.split(r"(?<=\.)\s", about.replace("\n", " "))[0]
            names = ", ".join(f"`{place.rpartition('.')[2]}`" for place in names_of(page))
            yield f"| [{title}]({page.relative_to(API).as_posix()}) | {about} | {names} |"
        yield ""


def navigation() -> list[dict[str, Any]]:
    """Return the pages of the API for the navigation, by package."""
    return [
        {package.name: [page.relative_to(API.parent).as_posix() for page in written]}
        for package, written in groupby(pages(), key=lambda page: page.parent)
    ]


@functools.cache
def pages() -> list[Path]:
    """Return the pages of the API: each is about the modules that it names at its top."""
    order = [package.partition(".")[0] for package in (*LIBRARIES, *PLUGINS)]
    found = sorted(API.glob("*/*.md"))
    return sorted(found, key=lambda page: order.index(page.parent.name))


def names_of(page: Path) -> list[str]:
    """Return the places of the names that a page documents, by module and name."""
    return [place for place in public() if page_of(place) == page]


def page_of(place: str) -> Path:
    """Return the page about a name: the one that names its module, or the next above it."""
    above = place
    while "." in above:
        above = above.rpartition(".")[0]
        if above in _pages_by_module():
            return _pages_by_module()[above]
    raise LookupError(f"{place} is public: name its module at the top of a page of {API}.")


@functools.cache
def _pages_by_module() -> dict[str, Path]:
    return {module: page for page in pages() for module in _parts(page)[0]["modules"]}


@functools.cache
def public() -> list[str]:
    """Return the place of every public name."""
    found = [
        place
        for package, modules in {**LIBRARIES, **PLUGINS}.items()
        for place in [
            *(one for module in (package, *modules) for one in places(module)),
            *registered(package),
        ]
    ]
    return list(dict.fromkeys(found))


@functools.cache
def _parts(page: Path) -> tuple[dict[str, Any], str]:
    """Return what stands at the top of a page, and its text."""
    _, head, text = page.read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(head), text


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
