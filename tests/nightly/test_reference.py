"""The reference is complete: files and their versions, the API, the options of commands."""

import importlib
import json
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from cli import gem
from doc_pages import blocks_of

from gem_core.agent import Generation
from gem_core.errors import ConfigError
from gem_rollout import Trajectory, TrajectoryFile, Turn
from gem_rollout.records.observations import Observations
from gem_rollout.records.trajectory import VERSION

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import api_pages  # noqa: E402
import command_pages  # noqa: E402

PAGE = (ROOT / "docs" / "reference" / "files.md").read_text()
EXAMPLES = [
    json.loads(text)
    for text in re.findall(r"^```json\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)
]
VERSIONS = [
    ("trajectories", "gem_rollout.records.trajectory", "VERSION"),
    ("the viewer's index", "gem_eval.view.index", "_FORMAT"),
    ("WebShop catalogues", "gem_web.store", "_VERSION"),
    ("Harbor's tasks", "gem_terminal.harbor", "_SCHEMAS"),
]
"""The formats with a version, and where the code has it; the newest of several is the last."""
RECORDS = [("the episode", Trajectory), ("a turn", Turn), ("a generation", Generation)]


def names_in(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(("name", "module", "constant"), VERSIONS)
def test_the_version_of_a_format_on_the_page_is_that_of_the_code(
    name: str, module: str, constant: str
) -> None:
    version = getattr(importlib.import_module(module), constant)
    newest = version[-1] if isinstance(version, tuple) else version
    assert re.search(rf"^\| \[{name}\][^|]*\| {newest} \|", PAGE, re.MULTILINE)


def test_every_other_format_of_the_page_has_no_version() -> None:
    rows = re.findall(r"^\| \[([^]]+)\]\(#[^|]*\| ([\w.]+) \|", PAGE, re.MULTILINE)
    assert {name for name, version in rows if version != "none"} == {one[0] for one in VERSIONS}


@pytest.mark.parametrize(("part", "record"), RECORDS)
def test_the_page_has_the_fields_of_a_trajectory(part: str, record: type) -> None:
    (row,) = re.findall(rf"^\| {part} \| (.*) \|$", PAGE, re.MULTILINE)
    written = {field.name for field in fields(record)} - {"extra"}  # type: ignore[arg-type]
    assert names_in(row) - {"version"} == written


def test_the_example_of_a_trajectory_can_be_read() -> None:
    trajectory = Trajectory.from_dict(EXAMPLES[0])
    assert set(trajectory.to_dict()) == set(EXAMPLES[0])


def test_a_newer_field_is_kept_and_a_newer_version_refused() -> None:
    newer = {**EXAMPLES[0], "weather": "fine"}
    assert Trajectory.from_dict(newer).to_dict()["weather"] == "fine"
    with pytest.raises(ConfigError, match="upgrade gem-rollout"):
        Trajectory.from_dict({**newer, "version": VERSION + 1})


def test_the_program_of_the_page_reads_what_agents_were_shown(tmp_path: Path) -> None:
    texts = ["a line\n" * 50 * turn + f"turn {turn}" for turn in range(1, 5)]
    pages = [{"text": text, "images": texts[:at], "n": at} for at, text in enumerate(texts)]
    kept = {"a": Observations(), "b": Observations()}
    turns = [
        Turn(agent, kept[agent].keep(shown), "go", 0.0, False, False, {})
        for both in zip(texts, pages, strict=True)
        for agent, shown in zip("ab", both, strict=True)
    ]
    with TrajectoryFile(tmp_path / "file") as file:
        file.append(Trajectory("test:Env-v0", "a", 0, 7, turns))
    assert (tmp_path / "file").read_text().count('"shares"') == 6
    (program,) = blocks_of(section("Trajectories"))
    names: dict[str, Any] = {}
    exec(program.text, names)  # noqa: S102 - the page's own
    (found,) = names["episodes"](tmp_path / "file")
    assert [turn["observation"] for turn in found["turns"]] == [turn.observation for turn in turns]


def test_the_page_has_the_columns_of_the_exported_tables() -> None:
    tables = pytest.importorskip("gem_eval.view.tables", reason="pip install gem-eval")
    _, episodes, turns = re.split(
        r"^- `(?:episodes|turns)`:", section("Exported tables"), flags=re.MULTILINE
    )
    assert names_in(episodes) == set(tables.EPISODE_COLUMNS)
    assert names_in(turns.partition("\n\n")[0]) == set(tables.TURN_COLUMNS)


def test_the_page_has_the_content_of_a_run(tmp_path: Path) -> None:
    words = ["eval", "qa:Sample", "agent=oracle", "episodes=2", f"out={tmp_path / 'run'}"]
    assert gem(*words).returncode == 0
    named = names_in(section("Runs"))
    assert set(json.loads((tmp_path / "run" / "run.json").read_text())) <= named
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert set(metrics) | set(metrics["rows"][0]) <= named
    assert set(metrics["rows"][0]["success"]) == set(EXAMPLES[1])


API = {place.rpartition(".")[2] for place in api_pages.public()}
IMPORT = re.compile(r"^from (gem_[\w.]+) import ([\w, ]+)$", re.MULTILINE)
COMMANDS = dict(command_pages.all_commands())


@pytest.mark.parametrize("package", [*api_pages.LIBRARIES, *api_pages.PLUGINS])
def test_every_public_name_of_a_package_is_on_a_page_of_the_api(package: str) -> None:
    module = importlib.import_module(package)
    public = {name for name in getattr(module, "__all__", ()) if not name.startswith("__")}
    assert public - API == set()


def test_every_public_name_is_on_one_page_and_every_page_has_names() -> None:
    assert {api_pages.page_of(place) for place in api_pages.public()} == {*api_pages.pages()}


def test_everything_that_a_page_imports_is_on_a_page_of_the_api() -> None:
    packages = {*api_pages.LIBRARIES, *api_pages.PLUGINS}
    missing = set()
    for page in (ROOT / "docs").rglob("*.md"):
        for module, names in IMPORT.findall(page.read_text()):
            if module.partition(".")[0] in packages:
                missing |= {name for name in names.split(", ") if name.split(" as ")[0] not in API}
    assert missing == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_says_what_it_means(name: str) -> None:
    command = COMMANDS[name]
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert command.help
    assert [one.name for one in options if not one.help] == []
    assert [key for key, text in command_pages.keys_of(command) if not text] == []


def test_the_page_of_commands_has_every_command_and_option() -> None:
    page = "\n".join(command_pages.commands_page())
    for name, command in COMMANDS.items():
        assert f"\n## {name}\n" in page
        assert all(
            f"`{key.replace('|', chr(92) + '|')}`" in page
            for key, _ in command_pages.keys_of(command)
        )
    assert "`samples=1`" in page
    assert "`--max-envs" in page


SHOWN = re.compile(r"^(?: {4}|\$ )gem-core ([a-z-]+)(?: ([a-z-]+))?(?= )([^\n#|&]*)", re.MULTILINE)


def test_every_option_that_a_page_shows_is_one_of_its_command() -> None:
    unknown = []
    for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")):
        for name, inner, rest in SHOWN.findall(page.read_text(encoding="utf-8")):
            command = COMMANDS.get(f"{name} {inner}") or COMMANDS.get(name)
            if command is not None:  # a page may show a command of its own
                options = [
                    one for own in command.params for one in (*own.opts, *own.secondary_opts)
                ]
                typed = set(re.findall(r"(?<= )--[a-z][\w-]*", rest)) - {"--help"}
                unknown += [(page.name, name, one) for one in typed - set(options)]
    assert unknown == []
