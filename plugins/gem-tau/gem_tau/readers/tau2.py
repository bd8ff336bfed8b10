"""Tasks of tau2-bench: ``db.json``, ``tasks.json``, ``split_tasks.json`` and ``policy.md``.

Fields that only describe a task (``description``, ``ticket``, ``issues``, ``annotations``, and
``info``, ``message`` and ``action_id`` of a call or condition) have no effect on an episode. What
cannot be played here is refused by name: users with tools, a conversation that has begun,
documents.

``actions: null`` is read as no calls, so that the expected database is the unchanged one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator

from gem_core.errors import ConfigError, DataError, near_names
from gem_tau.database import Base
from gem_tau.readers.businesses import REFUSED, Business
from gem_tau.readers.fields import Fields, Tool, checked, known
from gem_tau.readers.files import base_of_file, patched, read_json, read_text
from gem_tau.readers.replay import try_calls
from gem_tau.readers.users import goal_kind, scenario_of_parts, scenario_of_text
from gem_tau.scenario import Scenario
from gem_tau.task import Assertion, Call, DialogueTask, Domain, Mention, Part
from gem_tau.toolkit import Toolkit

__all__ = ["is_folder", "read"]

T = TypeVar("T")
_FILE = "tasks.json"
Basis = Literal["DB", "COMMUNICATE", "ACTION", "ENV_ASSERTION", "NL_ASSERTION"]
_BASIS: dict[Basis, Part] = {
    "DB": "db",
    "COMMUNICATE": "communicate",
    "ACTION": "actions",
    "ENV_ASSERTION": "env_assertions",
    "NL_ASSERTION": "nl",
}


def _assistant(side: str) -> str:
    if side != "assistant":
        raise ValueError("is not supported: only the assistant has tools here")
    return side


def _empty(reason: str) -> AfterValidator:
    """Return a validator that refuses a value which is not empty."""

    def check(value: T) -> T:
        if value:
            raise ValueError(f"is not supported: {reason}")
        return value

    return AfterValidator(check)


def _method(name: str, info: ValidationInfo) -> str:
    toolkit = (info.context or {})["toolkit"]
    found = getattr(toolkit, name, None)
    if name.startswith("_") or not callable(found) or hasattr(Toolkit, name):
        raise ValueError(f"is not supported: the domain has no {name!r}")
    return name


def _known_tables(patch: dict[str, Any] | None, info: ValidationInfo) -> dict[str, Any] | None:
    for name in patch or {}:
        known(name, "table", (info.context or {})["tables"])
    return patch


Side = Annotated[str, AfterValidator(_assistant)]
Method = Annotated[str, AfterValidator(_method)]
Objects = dict[str, dict[str, Any]]


class _Id(Fields):
    model_config = ConfigDict(extra="ignore")

    id: str


class _Action(Fields):
    action_id: Any = None
    requestor: Side | None = None
    name: Tool
    arguments: dict[str, Any]
    info: Any = None
    compare_args: list[str] | None = None


class _Assertion(Fields):
    env_type: Side
    func_name: Method
    arguments: dict[str, Any]
    assert_value: bool | None = None
    message: Any = None


class _Criteria(Fields):
    actions: list[_Action] | None = None
    env_assertions: list[_Assertion] | None = None
    communicate_info: list[str] | None = None
    nl_assertions: list[str] | None = None
    reward_basis: Annotated[list[Basis], Field(min_length=1)] | None = None


class _SetUp(Fields):
    env_type: Side
    func_name: Tool
    arguments: dict[str, Any]


class _Data(Fields):
    agent_data: Annotated[dict[str, Objects] | None, AfterValidator(_known_tables)] = None
    user_data: Annotated[dict[str, Any] | None, _empty("the user has no database here")] = None


class _State(Fields):
    initialization_data: _Data | None = None
    initialization_actions: list[_SetUp] | None = None
    message_history: Annotated[list[Any] | None, _empty("a conversation starts empty here")] = None


class _Instructions(Fields):
    domain: str
    reason_for_call: str
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str


class _User(Fields):
    persona: str | None = None
    instructions: Any

    @field_validator("instructions")
    @classmethod
    def _text_or_parts(cls, value: Any) -> str | _Instructions:
        return value if isinstance(value, str) else _Instructions.model_validate(value)


class _Task(Fields):
    id: str
    user_scenario: _User
    initial_state: _State | None = None
    evaluation_criteria: _Criteria
    user_tools: Annotated[list[str] | None, _empty("users have no tools here")] = None
    required_documents: Annotated[list[str] | None, _empty("there are no documents here")] = None
    description: Any = None
    ticket: Any = None
    issues: Any = None
    annotations: Any = None


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
    context = {
        "toolkit": domain.toolkit,
        "tools": [one.name for one in domain.toolkit.functions()],
        "tables": base.tables,
    }
    return [
        _task(found[one_id], f"{path}: task {one_id!r}", base, domain, context)
        for one_id in _split(folder, found, split)
    ]


def _by_id(path: Path) -> dict[str, Any]:
    """Return all tasks by their ids."""
    rows = read_json(path)
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{path} must be a list of tasks, with one at least.")
    found: dict[str, Any] = {}
    for number, row in enumerate(rows):
        task_id = checked(_Id, row, f"{path}: task number {number}").id
        if task_id in found:
            raise DataError(f"{path}: task {task_id!r}: id is that of an earlier task.")
        found[task_id] = row
    return found


def _split(folder: Path, tasks: Mapping[str, Any], split: str | None) -> list[str]:
    """Return the ids of the tasks in a split, in the order of the tasks."""
    path = folder / "split_tasks.json"
    splits = read_json(path) if path.exists() else {}
    if not isinstance(splits, dict):
        raise DataError(f"{path} must be an object of lists of ids.")
    if (split or "base") not in splits:
        if split is None or (split == "base" and not splits):
            return list(tasks)
        names = list(map(str, splits)) or ["base"]
        raise ConfigError(
            f"{folder} has no split {split!r}.{near_names(split, names)} "
            f"There are: {', '.join(names)}."
        )
    name = split or "base"
    ids = checked(list[str], splits[name], f"{path}: {name}")
    for one in ids:
        if one not in tasks:
            raise DataError(f"{path}: {name} has the id {one!r}, which is not in {_FILE}.")
    if not ids:
        raise DataError(f"{path}: {name} is empty.")
    return [one for one in tasks if one in set(ids)]


def _task(
    row: Any, where: str, base: Base, domain: Domain, context: Mapping[str, Any]
) -> DialogueTask:
    fields = checked(_Task, row, where, context)
    state = fields.initial_state or _State()
    if state.initialization_data and state.initialization_data.agent_data:
        base = patched(base, state.initialization_data.agent_data)
    criteria = fields.evaluation_criteria
    actions = tuple(map(_call, criteria.actions or ()))
    said = tuple(map(Mention, criteria.communicate_info or ()))
    kind = goal_kind(actions, domain.toolkit, has_outputs=bool(said))
    basis = criteria.reward_basis or ["DB", "COMMUNICATE"]
    task = DialogueTask(
        id=fields.id,
        domain=domain,
        base=base,
        scenario=_scenario(fields.user_scenario, domain, kind, where),
        actions=actions,
        communicate=said,
        env_assertions=tuple(map(_assertion, criteria.env_assertions or ())),
        nl_assertions=tuple(criteria.nl_assertions or ()),
        reward_basis=tuple(dict.fromkeys(_BASIS[name] for name in basis)),
        setup=tuple(
            Call(one.func_name, one.arguments) for one in state.initialization_actions or ()
        ),
    )
    try_calls(task, where, "evaluation_criteria.actions")
    return task


def _call(fields: _Action) -> Call:
    compare = fields.compare_args
    return Call(fields.name, fields.arguments, None if compare is None else tuple(compare))


def _assertion(fields: _Assertion) -> Assertion:
    return Assertion(fields.func_name, fields.arguments, fields.assert_value is not False)


def _scenario(user: _User, domain: Domain, kind: str, where: str) -> Scenario:
    parts: str | _Instructions = user.instructions
    persona = user.persona or ""
    if isinstance(parts, str):
        return scenario_of_text(parts, kind=kind, persona=persona)
    where = f"{where}: user_scenario.instructions.domain"
    if parts.domain in REFUSED:
        raise _refused(parts.domain, where)
    if parts.domain != domain.name:
        raise DataError(f"{where} is {parts.domain!r}, and {domain.name!r} was asked for.")
    return scenario_of_parts(
        reason=parts.reason_for_call,
        known=parts.known_info or "",
        unknown=parts.unknown_info or "",
        manner=parts.task_instructions,
        persona=persona,
        kind=kind,
    )


def _refused(name: str, where: str) -> DataError:
    return DataError(f"{where}: the domain {name!r} cannot be played here: {REFUSED[name]}.")
