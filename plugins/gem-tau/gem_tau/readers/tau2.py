"""Tasks of tau2-bench: ``db.json``, ``tasks.json``, ``split_tasks.json`` and ``policy.md``.

Fields that only describe a task (``description``, ``ticket``, ``issues``, ``annotations``, and
``info``, ``message`` and ``action_id`` of a call or condition) have no effect on an episode. What
cannot be played here is refused by name: users with tools, a conversation that has begun,
documents.

``actions: null`` is read as no calls, so that the expected database is the unchanged one.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError, DataError, near_names
from gem_tau.database import Base
from gem_tau.readers.businesses import REFUSED, Business
from gem_tau.readers.fields import Fields
from gem_tau.readers.files import base_of_file, patched, read_json, read_text
from gem_tau.readers.replay import try_calls
from gem_tau.readers.users import goal_kind, scenario_of_parts, scenario_of_text
from gem_tau.scenario import Scenario
from gem_tau.task import Assertion, Call, DialogueTask, Domain, Mention, Part
from gem_tau.toolkit import Toolkit

__all__ = ["is_folder", "read"]

_FILE = "tasks.json"
_BASIS: dict[str, Part] = {
    "DB": "db",
    "COMMUNICATE": "communicate",
    "ACTION": "actions",
    "ENV_ASSERTION": "env_assertions",
    "NL_ASSERTION": "nl",
}
_TASK = (
    *("id", "user_scenario", "initial_state", "evaluation_criteria", "user_tools"),
    *("required_documents", "description", "ticket", "issues", "annotations"),
)
_CRITERIA = ("actions", "env_assertions", "communicate_info", "nl_assertions", "reward_basis")


def is_folder(folder: Path) -> bool:
    """Return whether a folder has tasks in this format."""
    return (folder / _FILE).is_file()


def read(folder: Path, business: Business, split: str | None) -> list[DialogueTask]:
    """Return the tasks of a split; None for ``base``, or for all where there are no splits.

    Raises:
        ConfigError: There is no such split.
        DataError: The folder cannot be read, or a task cannot be played here.
    """
    if folder.resolve().name in REFUSED:
        raise _refused(folder.resolve().name, str(folder))
    path = folder / _FILE
    base = base_of_file(folder / "db.json", business)
    policy = read_text(folder / "policy.md")
    domain = Domain(business.name, business.toolkit(is_v1=False), policy)
    found = _by_id(path)
    chosen = _split(folder, found, split)
    return [_task(one, base, domain) for one_id, one in found.items() if one_id in chosen]


def _by_id(path: Path) -> dict[str, Fields]:
    """Return the fields of all tasks by their ids."""
    rows = read_json(path)
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{path} must be a list of tasks, with one at least.")
    found: dict[str, Fields] = {}
    for number, row in enumerate(rows):
        task_id = Fields.of(row, f"{path}: task number {number}").need("id", str)
        if task_id in found:
            raise DataError(f"{path}: task {task_id!r}: id is that of an earlier task.")
        found[task_id] = Fields(row, f"{path}: task {task_id!r}")
    return found


def _split(folder: Path, known: Mapping[str, Any], split: str | None) -> set[str]:
    """Return the ids of the tasks in a split."""
    path = folder / "split_tasks.json"
    splits = read_json(path) if path.exists() else {}
    if not isinstance(splits, dict):
        raise DataError(f"{path} must be an object of lists of ids.")
    if (split or "base") not in splits:
        if split is None or (split == "base" and not splits):
            return set(known)
        names = list(map(str, splits)) or ["base"]
        raise ConfigError(
            f"{folder} has no split {split!r}.{near_names(split, names)} "
            f"There are: {', '.join(names)}."
        )
    fields = Fields(splits, str(path))
    ids = fields.texts(split or "base")
    for one in ids:
        if one not in known:
            raise fields.error(split or "base", f"has the id {one!r}, which is not in {_FILE}")
    if not ids:
        raise fields.error(split or "base", "is empty")
    return set(ids)


def _task(fields: Fields, base: Base, domain: Domain) -> DialogueTask:
    fields.only(*_TASK)
    _refuse_needs(fields)
    criteria = fields.object("evaluation_criteria")
    if criteria is None:
        raise fields.error("evaluation_criteria", "is missing, so that nothing can be graded")
    criteria.only(*_CRITERIA)
    actions = tuple(_action(one, domain.toolkit) for one in criteria.objects("actions"))
    said = tuple(map(Mention, criteria.texts("communicate_info")))
    kind = goal_kind(actions, domain.toolkit, has_outputs=bool(said))
    base, setup = _start(fields, base, domain)
    task = DialogueTask(
        id=fields.need("id", str),
        domain=domain,
        base=base,
        scenario=_scenario(fields, domain, kind),
        actions=actions,
        communicate=said,
        env_assertions=_assertions(criteria, domain.toolkit),
        nl_assertions=tuple(criteria.texts("nl_assertions")),
        reward_basis=_basis(criteria),
        setup=setup,
    )
    try_calls(task, fields, "evaluation_criteria.actions")
    return task


def _refuse_needs(fields: Fields) -> None:
    """Refuse a task that needs what is not played here."""
    if fields.texts("user_tools"):
        raise fields.error("user_tools", "is not supported: users have no tools here")
    if fields.texts("required_documents"):
        raise fields.error("required_documents", "is not supported: there are no documents here")


def _basis(criteria: Fields) -> tuple[Part, ...]:
    if criteria.values.get("reward_basis") is None:
        return ("db", "communicate")
    names = criteria.texts("reward_basis")
    for name in names:
        if name not in _BASIS:
            hint = near_names(name, _BASIS)
            raise criteria.error(
                "reward_basis", f"has no part {name!r}.{hint} There are: {', '.join(_BASIS)}"
            )
    if not names:
        raise criteria.error("reward_basis", "is empty, so that every agent would be paid")
    return tuple(dict.fromkeys(_BASIS[name] for name in names))


def _action(fields: Fields, toolkit: type[Toolkit]) -> Call:
    fields.only("action_id", "requestor", "name", "arguments", "info", "compare_args")
    if fields.get("requestor", str, "assistant") != "assistant":
        raise fields.error("requestor", "is not supported: only the assistant has tools here")
    is_given = fields.values.get("compare_args") is not None
    compare = tuple(fields.texts("compare_args")) if is_given else None
    return _call(fields, "name", toolkit, compare)


def _call(
    fields: Fields, key: str, toolkit: type[Toolkit], compare: tuple[str, ...] | None = None
) -> Call:
    name = fields.need(key, str)
    names = [one.name for one in toolkit.functions()]
    if name not in names:
        raise fields.error(key, f"is not a tool of the domain: {name!r}.{near_names(name, names)}")
    return Call(name, fields.need("arguments", dict), compare)


def _assertions(criteria: Fields, toolkit: type[Toolkit]) -> tuple[Assertion, ...]:
    found = []
    for fields in criteria.objects("env_assertions"):
        fields.only("env_type", "func_name", "arguments", "assert_value", "message")
        _check_side(fields)
        name = fields.need("func_name", str)
        if name.startswith("_") or not _is_method(toolkit, name):
            raise fields.error("func_name", f"is not supported: the domain has no {name!r}")
        arguments = fields.need("arguments", dict)
        found.append(Assertion(name, arguments, fields.get("assert_value", bool, True)))
    return tuple(found)


def _is_method(toolkit: type[Toolkit], name: str) -> bool:
    method: Callable[..., Any] | None = getattr(toolkit, name, None)
    return callable(method) and not hasattr(Toolkit, name)


def _check_side(fields: Fields) -> None:
    if fields.need("env_type", str) != "assistant":
        raise fields.error("env_type", "is not supported: only the assistant has tools here")


def _start(fields: Fields, base: Base, domain: Domain) -> tuple[Base, tuple[Call, ...]]:
    """Return the database at the start, and the calls that change it then."""
    state = fields.object("initial_state")
    if state is None:
        return base, ()
    state.only("initialization_data", "initialization_actions", "message_history")
    if state.get("message_history", list, []):
        raise state.error("message_history", "is not supported: a conversation starts empty here")
    data = state.object("initialization_data")
    if data is not None:
        base = _patched(data, base)
    calls = []
    for one in state.objects("initialization_actions"):
        one.only("env_type", "func_name", "arguments")
        _check_side(one)
        calls.append(_call(one, "func_name", domain.toolkit))
    return base, tuple(calls)


def _patched(data: Fields, base: Base) -> Base:
    data.only("agent_data", "user_data")
    if data.get("user_data", dict, {}):
        raise data.error("user_data", "is not supported: the user has no database here")
    patch = data.object("agent_data")
    if patch is None:
        return base
    patch.only(*base.tables)
    for table in patch.values:
        records = Fields(patch.need(table, dict), patch.where, patch.at(table))
        for record_id in records.values:
            records.need(record_id, dict)
    return patched(base, patch.values)


def _scenario(fields: Fields, domain: Domain, kind: str) -> Scenario:
    user = fields.object("user_scenario")
    if user is None:
        raise fields.error("user_scenario", "is missing")
    user.only("persona", "instructions")
    persona = user.get("persona", str, "")
    if isinstance(user.values.get("instructions"), str):
        return scenario_of_text(user.values["instructions"], kind=kind, persona=persona)
    parts = user.object("instructions")
    if parts is None:
        raise user.error("instructions", "is missing")
    return _scenario_of(parts, domain, kind, persona)


def _scenario_of(parts: Fields, domain: Domain, kind: str, persona: str) -> Scenario:
    parts.only("domain", "reason_for_call", "known_info", "unknown_info", "task_instructions")
    name = parts.need("domain", str)
    if name in REFUSED:
        raise _refused(name, f"{parts.where}: {parts.at('domain')}")
    if name != domain.name:
        raise parts.error("domain", f"is {name!r}, and {domain.name!r} was asked for")
    return scenario_of_parts(
        reason=parts.need("reason_for_call", str),
        known=parts.get("known_info", str, ""),
        unknown=parts.get("unknown_info", str, ""),
        manner=parts.need("task_instructions", str),
        persona=persona,
        kind=kind,
    )


def _refused(name: str, where: str) -> DataError:
    return DataError(f"{where}: the domain {name!r} cannot be played here: {REFUSED[name]}.")
