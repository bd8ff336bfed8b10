"""Tasks of tau2-bench: ``tasks.json``, ``split_tasks.json``, a database and a policy.

Fields that only describe a task (``description``, ``ticket``, ``issues``, ``annotations``, and
``info``, ``message`` and ``action_id`` of a call or condition, the times and costs of a message)
have no effect on an episode. What cannot be played here is refused by name: documents, and tools
that a task gives to its user.

``actions: null`` is read as no calls, so that the expected database is the unchanged one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator

from gem_core.errors import ConfigError, DataError, near_names
from gem_tau.database import Base
from gem_tau.readers.businesses import DOMAINS, Business, problem_with
from gem_tau.readers.fields import Fields, checked, known
from gem_tau.readers.files import base_of_file, patched, read_json, read_text
from gem_tau.readers.replay import try_calls
from gem_tau.readers.users import goal_kind, scenario_of_parts, scenario_of_text
from gem_tau.scenario import Check, Scenario
from gem_tau.task import Assertion, Call, DialogueTask, Domain, Mention, Part, Side
from gem_tau.toolkit import Toolkit, UserToolkit

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


def _side(side: str, info: ValidationInfo) -> str:
    if side not in {"assistant", "user"}:
        raise ValueError("must be 'assistant' or 'user'")
    if side not in (info.context or {})["toolkits"]:
        raise ValueError("is not supported: only the assistant has tools in this domain")
    return side


def _empty(reason: str) -> AfterValidator:
    """Return a validator that refuses a value which is not empty."""

    def check(value: T) -> T:
        if value:
            raise ValueError(f"is not supported: {reason}")
        return value

    return AfterValidator(check)


def _method(name: str, info: ValidationInfo) -> str:
    side = info.data.get("env_type", "assistant")
    toolkit = (info.context or {})["toolkits"][side]
    found = getattr(toolkit, name, None)
    if name.startswith("_") or not callable(found) or hasattr(UserToolkit, name):
        raise ValueError(f"is not supported: the domain has no {name!r}")
    return name


def _tool(name: str, info: ValidationInfo) -> str:
    side = info.data.get("requestor") or "assistant"
    return known(name, "tool", (info.context or {})["tools"][side])


def _known_tables(patch: dict[str, Any] | None, info: ValidationInfo) -> dict[str, Any] | None:
    for name in patch or {}:
        known(name, "table", [one for one in (info.context or {})["tables"] if one != "user"])
    return patch


def _known_user_records(
    patch: dict[str, Any] | None, info: ValidationInfo
) -> dict[str, Any] | None:
    records = (info.context or {})["tables"].get("user")
    if patch and records is None:
        raise ValueError("is not supported: the user has no database in this domain")
    for name in patch or {}:
        known(name, "record of the user", records)
    return patch


Requestor = Annotated[Side, AfterValidator(_side)]
Tool = Annotated[str, AfterValidator(_tool)]
Method = Annotated[str, AfterValidator(_method)]
Objects = dict[str, dict[str, Any]]


class _Id(Fields):
    model_config = ConfigDict(extra="ignore")

    id: str


class _Action(Fields):
    action_id: Any = None
    requestor: Requestor | None = None
    name: Tool
    arguments: dict[str, Any]
    info: Any = None
    compare_args: list[str] | None = None


class _Assertion(Fields):
    env_type: Requestor
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
    env_type: Requestor
    func_name: Method
    arguments: dict[str, Any]


class _Data(Fields):
    agent_data: Annotated[dict[str, Objects] | None, AfterValidator(_known_tables)] = None
    user_data: Annotated[dict[str, Any] | None, AfterValidator(_known_user_records)] = None


class _HistoryCall(Fields):
    id: Any = None
    requestor: Requestor | None = None
    name: Tool
    arguments: dict[str, Any]


class _Message(Fields):
    id: Any = None
    turn_idx: Any = None
    timestamp: Any = None
    cost: Any = None
    usage: Any = None
    raw_data: Any = None
    requestor: Any = None
    error: Any = None
    role: Literal["user", "assistant", "tool"]
    content: str | None = None
    tool_calls: list[_HistoryCall] | None = None


class _State(Fields):
    initialization_data: _Data | None = None
    initialization_actions: list[_SetUp] | None = None
    message_history: list[_Message] | None = None


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
    user_tools: Annotated[
        list[str] | None, _empty("a user has all tools of the domain, or none")
    ] = None
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
    name = folder.resolve().name
    if name in DOMAINS and (problem := problem_with(name, business.name)):
        raise DataError(f"{folder}: {problem}.")
    path = folder / _FILE
    user_path = folder / business.user_database if business.user_database else None
    base = base_of_file(folder / business.database, business, user_path)
    policy = "\n\n".join(read_text(folder / name).strip() for name in business.policy)
    toolkit, user_toolkit = business.toolkit(is_v1=False), business.user_toolkit
    domain = Domain(business.name, toolkit, policy, user_toolkit=user_toolkit)
    toolkits: dict[str, type[Toolkit]] = {"assistant": toolkit}
    if user_toolkit is not None:
        toolkits["user"] = user_toolkit
    found = _by_id(path)
    context = {
        "toolkits": toolkits,
        "tools": {side: [one.name for one in kind.functions()] for side, kind in toolkits.items()},
        "tables": base.tables,
        "checks": dict(business.checks),
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
    if data := state.initialization_data:
        changes = dict(data.agent_data or {}) | ({"user": data.user_data} if data.user_data else {})
        base = patched(base, changes) if changes else base
    history, calls = _history(state.message_history or (), where)
    criteria = fields.evaluation_criteria
    asserted = criteria.env_assertions or ()
    actions = tuple(map(_call, criteria.actions or ()))
    said = tuple(map(Mention, criteria.communicate_info or ()))
    kind = goal_kind(actions, domain.toolkit, has_outputs=bool(said))
    checks = {one.func_name: context["checks"].get(one.func_name) for one in asserted}
    basis = criteria.reward_basis or ["DB", "COMMUNICATE"]
    task = DialogueTask(
        id=fields.id,
        domain=domain,
        base=base,
        scenario=_checked_by_user(
            _scenario(fields.user_scenario, domain, kind, where),
            [one for one in checks.values() if one],
        ),
        actions=actions,
        communicate=said,
        env_assertions=tuple(map(_assertion, asserted)),
        nl_assertions=tuple(criteria.nl_assertions or ()),
        reward_basis=tuple(dict.fromkeys(_BASIS[name] for name in basis)),
        setup=(
            *(
                Call(one.func_name, one.arguments, side=one.env_type)
                for one in state.initialization_actions or ()
            ),
            *calls,
        ),
        history=history,
    )
    try_calls(task, where, "evaluation_criteria.actions")
    return task


def _call(fields: _Action) -> Call:
    compare = fields.compare_args
    compared = None if compare is None else tuple(compare)
    return Call(fields.name, fields.arguments, compared, side=fields.requestor or "assistant")


def _assertion(fields: _Assertion) -> Assertion:
    expected = fields.assert_value is not False
    return Assertion(fields.func_name, fields.arguments, expected, fields.env_type)


def _checked_by_user(scenario: Scenario, checks: Sequence[Check]) -> Scenario:
    """Return a scenario whose first goal is reached when the user sees it."""
    first, *others = scenario.goals
    return replace(scenario, goals=(replace(first, checks=tuple(checks)), *others))


def _history(
    messages: Sequence[_Message], where: str
) -> tuple[tuple[tuple[Side, str], ...], tuple[Call, ...]]:
    """Return what was said before the episode, and the calls that were made."""
    said: list[tuple[Side, str]] = []
    calls: list[Call] = []
    for one in messages:
        if one.role == "tool":
            continue
        if one.content:
            said.append((one.role, one.content))
        calls += [
            Call(call.name, call.arguments, side=call.requestor or one.role)
            for call in one.tool_calls or ()
        ]
    if messages and (not said or said[-1][0] != "assistant"):
        raise DataError(
            f"{where}: initial_state.message_history is not supported: the user must be next."
        )
    return tuple(said), tuple(calls)


def _scenario(user: _User, domain: Domain, kind: str, where: str) -> Scenario:
    parts: str | _Instructions = user.instructions
    persona = user.persona or ""
    if isinstance(parts, str):
        return scenario_of_text(parts, kind=kind, persona=persona)
    where = f"{where}: user_scenario.instructions.domain"
    if problem := problem_with(parts.domain, domain.name):
        raise DataError(f"{where}: {problem}.")
    return scenario_of_parts(
        reason=parts.reason_for_call,
        known=parts.known_info or "",
        unknown=parts.unknown_info or "",
        manner=parts.task_instructions,
        persona=persona,
        kind=kind,
    )
