"""Dialogues over a database: an assistant with tools serves a user who wants something.

``DialogueEnv`` has two seats, ``assistant`` and ``user``, which take turns; see ``gem_tau.env`` for
an environment of one of them.
"""

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

from gem_core import Action, Info, Observation
from gem_core.calls import CallFormat, Catalog, Reading, Request
from gem_core.faults import boundary
from gem_core.info import Grading, graded
from gem_core.maybe_async import drive
from gem_core.observation import text_of
from gem_core.thoughts import spoken
from gem_rollout import MultiAgentEnv
from gem_tau.calls import JSON, USER_RULES, check_limits, find_format, read, shown
from gem_tau.database import Database
from gem_tau.judge import Judge, make_judge
from gem_tau.mentions import MentionRule, check_rule
from gem_tau.missing import missing_text
from gem_tau.rewards import Evidence, Grade, check_basis, grading
from gem_tau.sources import Dialogues, check_judge, find_tasks
from gem_tau.task import Call, DialogueTask, Domain, Part, Side
from gem_tau.toolkit import CallResult, Toolkit
from gem_tau.users import UserGaveUpError

__all__ = ["ASSISTANT", "GIVES_UP", "STOP_MARKS", "USER", "DialogueEnv"]

ASSISTANT: Side = "assistant"
USER: Side = "user"
GIVES_UP = "###OUT-OF-SCOPE###"
"""What a user writes whose situation does not say how to go on."""
STOP_MARKS = ("###STOP###", "###TRANSFER###", GIVES_UP)
"""Each of these in a message of the user ends the dialogue."""
_CATALOGS: dict[type[Toolkit], Catalog] = {}
_PREFIXES: dict[tuple[Domain, CallFormat | None], str] = {}
"""What all environments of a process share: the functions, and the policies with them."""
_NOT_RUN = CallResult("[not run: the conversation was handed over]", ok=False, kind="neither")
_PHRASES = ("Could you tell me your email address?", "Is there anything else I can do for you?")
_REPLIES = ("Yes, please.", "No, thank you.", "I do not remember that.", STOP_MARKS[0])


class DialogueEnv(MultiAgentEnv):
    """A dialogue of an assistant, which has tools, and a user, who has a scenario.

    The user speaks first. The assistant calls tools, each call a turn of its own, or writes a
    message, which hands the turn to the user. A message of the user with one of ``STOP_MARKS`` ends
    the dialogue, and so does the assistant's tool ``transfer_to_human_agents``. Then both seats
    are paid the reward of the task; see ``gem_tau.rewards``. A dialogue that reaches a limit is
    truncated and paid 0.

    A user that gives up, with ``GIVES_UP`` or with a message that says nothing, says nothing about
    the assistant, so the dialogue is never graded: it is an error of the agent that plays the user
    (``UserGaveUpError``), or, if the user's seat acts from outside, truncated and paid 0. Thoughts
    at the beginning of a message (``gem_core.thoughts``) are not heard by the other seat.

    In some domains the user has tools too: a call, written as in ``json``, is a turn of its own,
    and only the user sees its result. More than ``max_turns`` of them in a row are giving up.

    ``info`` of the assistant: ``prefix`` is the policy with the functions, at the reset;
    ``tool_calls`` has the calls of a turn. At the end, ``rewards`` has the value of each part,
    ``reward_details`` what is missing, ``db_diff`` how the database changed in the episode,
    ``ended_by`` who ended it, and ``user_calls`` the calls of a user who has tools.
    ``info["prefix"]`` of the user is the scenario as text.

    Args:
        tasks: The name of a source of tasks, which the id decides (``retail-sample``, ...), or an
            object with the methods of ``gem_tasks.task_source.TaskSource``.
        data: A folder with tasks, for the sources that read one.
        split: The split of the tasks; None for the source's default.
        call_format: How the assistant calls tools: ``json`` (one call is the whole answer), the id
            of a call format, a mapping with an ``id``, or an object. A call as in ``json`` is read
            with every format.
        instructions: Where the functions are described: in the policy (``text``), or in
            ``info["tool_schemas"]`` of ``reset`` (``schemas``).
        max_turns: Turns of the assistant, calls included, 1 or more.
        max_errors: Failed calls in a row, 1 or more.
        reward_basis: The parts of the reward; None for each task's own.
        judge: Decides the part ``nl``: the id of an agent, a mapping, or a function.
        mentions: How a text that must be said is found: ``words``, as whole words and as numbers,
            or ``text``, as part of a message, as in tau-bench; see ``gem_tau.mentions``.

    Raises:
        ConfigError: A limit is below 1, a name is unknown, or a task needs a judge.
        DataError: The data cannot be read.
    """

    possible_agents = (USER, ASSISTANT)
    shared = ("source", "_format", "_judge", "basis")

    def __init__(
        self,
        *,
        tasks: str | Dialogues = "retail-sample",
        data: str | Path | None = None,
        split: str | None = None,
        call_format: str | Mapping[str, Any] | CallFormat = "json",
        instructions: Literal["text", "schemas"] = "text",
        max_turns: int = 30,
        max_errors: int = 10,
        reward_basis: Sequence[Part] | None = None,
        judge: str | Mapping[str, Any] | Judge | None = None,
        mentions: MentionRule = "words",
    ) -> None:
        super().__init__()
        check_limits(max_turns=max_turns, max_errors=max_errors, instructions=instructions)
        self.basis = None if reward_basis is None else check_basis(reward_basis)
        """The parts of the reward; None for each task's own."""
        self._judge = make_judge(judge)
        self.mentions = check_rule(mentions)
        self.source = find_tasks(tasks, data=data, split=split)
        """Where the tasks come from."""
        check_judge(self.source, self.basis, has_judge=self._judge is not None)
        self._format = find_format(call_format)
        self.instructions = instructions
        self.max_turns = max_turns
        self.max_errors = max_errors
        self.task: DialogueTask | None = None
        self.db: Database | None = None
        self.user: dict[str, Any] = {}
        """The agent that plays the user, for ``info``; set by ``make_dialogue``."""
        self._begin_dialogue()

    def _begin_dialogue(self) -> None:
        self.turns = 0
        self.errors = 0
        self.calls: list[Call] = []
        """The calls of both sides."""
        self._user_calls = 0  # since the user's last message
        self.dialogue: list[tuple[str, str]] = []
        """The messages between the seats, as pairs of speaker and text."""
        self._speaker: Side = USER
        self._shown: dict[str, str] = {USER: "", ASSISTANT: ""}

    @property
    def active_agents(self) -> list[str]:
        """The seat whose turn it is."""
        return [self._speaker] if self._speaker in self.agents else []

    @property
    def running_task(self) -> DialogueTask:
        """The task of the episode.

        Raises:
            EpisodeEndedError: No episode was started.
        """
        if self.task is None:
            raise self._not_running()
        return self.task

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the task of episode ``number`` of a run; see ``BaseEnv``."""
        return self.source.reset_options(number, seed)

    def start(self, *, idx: int | None = None) -> None:
        """Start the next task, or task ``idx``.

        Raises:
            ConfigError: There is no task ``idx``.
        """
        idx, task = self.source.draw(self.rng, idx)
        self.task, self.db = task, task.fresh()
        self._begin_dialogue()
        self.dialogue += task.opening
        self._shown[USER] = self.dialogue[-1][1]
        functions = task.domain.toolkit.functions()
        history = "".join(f"{speaker}: {text}\n" for speaker, text in task.history)
        begun = f"The conversation so far:\n{history}\n" if history else ""
        info: Info = {"task_id": task.id, "prefix": self._prefix(task.domain) + begun}
        if self.instructions == "schemas":
            info["tool_schemas"] = [one.to_openai() for one in functions]
        if idx is not None:
            info["idx"] = idx
        if self.user:
            info["user"] = dict(self.user)
        self.infos = {ASSISTANT: info, USER: {"prefix": _user_prefix(task) + begun}}

    def _prefix(self, domain: Domain) -> str:
        described = self._format if self.instructions == "text" else None
        if (domain, described) not in _PREFIXES:
            parts = [domain.policy.strip()]
            if described is not None:
                parts.append(described.instructions(domain.toolkit.functions()))
            _PREFIXES[domain, described] = "\n\n".join(parts) + "\n\n"
        return _PREFIXES[domain, described]

    def observe(self, agent: str) -> Observation:
        """Return the last text that a seat was sent."""
        return self._shown[agent]

    def process_actions(self, actions: dict[str, Action]) -> Any:
        """Take the turn of a seat."""
        return drive(self._take_turn(actions))

    def _take_turn(self, actions: dict[str, Action]) -> Generator[Any, Any, tuple[Any, ...]]:
        if USER in actions:
            return (yield from self._hear_user(text_of(actions[USER])))
        return (yield from self._hear_assistant(actions[ASSISTANT]))

    def _hear_user(self, text: str) -> Generator[Any, Any, tuple[Any, ...]]:
        if self.running_task.domain.user_toolkit is not None:
            reading = JSON.read(text)
            if reading.requests:
                return self._run_for_user(reading)
        self._user_calls = 0
        text = spoken(text)
        if GIVES_UP in text or not text.strip():
            return self._give_up(text)
        mark = next((mark for mark in STOP_MARKS if mark in text), "")
        message = text.replace(mark, "").strip() if mark else text
        self.dialogue.append((USER, message))
        self._shown[ASSISTANT], self._speaker = message, ASSISTANT
        if mark:
            return (yield from self._end({}, USER, mark.strip("#").lower()))
        if self.turns >= self.max_turns:
            return self._truncate({}, "max_turns")
        return {}, {}, {}, {}, {}

    def _run_for_user(self, reading: Reading) -> tuple[Any, ...]:
        """Run a call of the user, who goes on."""
        self._user_calls += 1
        if self._user_calls > self.max_turns:
            return self._give_up(said=f"made {self._user_calls} calls without a message")
        toolkit = self.running_task.domain.tools_of("user", self._database)
        results = [self._call(toolkit, request, USER) for request in reading.requests]
        self._shown[USER], info = shown("phone", JSON, reading, results)
        return {}, {}, {}, {}, {USER: info}

    def _give_up(self, text: str = "", *, said: str = "") -> tuple[Any, ...]:
        """End a dialogue whose user does not go on.

        Raises:
            UserGaveUpError: An agent plays the user.
        """
        if not self.user:
            return self._truncate({}, "user_gave_up")
        said = said or (f"wrote {GIVES_UP}" if text.strip() else "said nothing")
        with boundary("agent"):
            raise UserGaveUpError(
                f"The user {self.user.get('id', '')!r} of task {self.running_task.id!r} {said}, so "
                f"the episode cannot be graded."
            )

    def _hear_assistant(self, action: Action) -> Generator[Any, Any, tuple[Any, ...]]:
        self.turns += 1
        call_format, reading = read(self._format, action)
        if not reading.requests:
            self.errors = 0
            self._say(spoken(text_of(reading.action)))
            return {}, {}, {}, {}, {}
        info, hands_over = self._run(call_format, reading)
        if hands_over:
            return (yield from self._end(info, ASSISTANT, "transfer"))
        if self.errors >= self.max_errors:
            return self._truncate(info, "max_errors")
        if self.turns >= self.max_turns:
            return self._truncate(info, "max_turns")
        return {}, {}, {}, {}, {ASSISTANT: info}

    def _say(self, text: str) -> None:
        self.dialogue.append((ASSISTANT, text))
        self._shown[USER], self._speaker = text, USER

    def _run(self, call_format: CallFormat, reading: Reading) -> tuple[Info, bool]:
        """Run the calls of a turn; return its info, and whether the dialogue was handed over."""
        toolkit = self.running_task.domain.toolkit(self._database)
        results: list[CallResult] = []
        hands_over = False
        for request in reading.requests:
            if hands_over:
                results.append(_NOT_RUN)
                continue
            result = self._call(toolkit, request, ASSISTANT)
            results.append(result)
            self.errors = 0 if result.ok else self.errors + 1
            hands_over = result.ok and request.function in toolkit.ends_episode
        self._shown[ASSISTANT], info = shown("database", call_format, reading, results)
        return info, hands_over

    @property
    def _database(self) -> Database:
        if self.db is None:
            raise self._not_running()
        return self.db

    def _call(self, toolkit: Toolkit, request: Request, side: Side) -> CallResult:
        if request.problem and not request.function:
            return CallResult(f"Error: {request.problem}", ok=False, kind="neither")
        if problem := _catalog(type(toolkit)).problem(request):
            return CallResult(f"Error: {problem}", ok=False, kind="neither")
        self.calls.append(Call(request.function, dict(request.arguments), side=side))
        with boundary("tool"):
            return toolkit.call(request.function, request.arguments)

    def _end(self, info: Info, seat: str, how: str) -> Generator[Any, Any, tuple[Any, ...]]:
        with boundary("grader"):
            grade = yield from grading(
                self.running_task, self._evidence(), self.basis, self._judge, self.mentions
            )
        return self._last_step(info, grade, f"{seat}: {how}", is_over=True)

    def _truncate(self, info: Info, limit: str) -> tuple[Any, ...]:
        info["truncated_by"] = limit
        return self._last_step(info, Grade(0.0, {}), limit, is_over=False)

    def _evidence(self) -> Evidence:
        begun = len(self.running_task.opening)
        said = [text for speaker, text in self.dialogue[begun:] if speaker == ASSISTANT]
        return Evidence(self._database, self.calls, said, self.dialogue)

    def _last_step(
        self, info: Info, grade: Grade, ended_by: str, *, is_over: bool
    ) -> tuple[Any, ...]:
        seats = (USER, ASSISTANT)
        result: Info = {
            "correct": grade.reward >= 1.0,
            "grading": self._grading(grade, ended_by, is_over=is_over),
            "rewards": dict(grade.parts),
            "reward_details": dict(grade.details),
            "ended_by": ended_by,
            "db_diff": [change.to_dict() for change in self._database.diff()],
        }
        if self.running_task.domain.user_toolkit is not None:
            result["user_calls"] = [str(call) for call in self.calls if call.side == USER]
        spent = {"spent": dict(grade.spent)} if grade.spent else {}
        return (
            {},
            dict.fromkeys(seats, grade.reward),
            dict.fromkeys(seats, is_over),
            dict.fromkeys(seats, not is_over),
            {ASSISTANT: {**info, **result, **spent}, USER: result},
        )

    def _grading(self, grade: Grade, ended_by: str, *, is_over: bool) -> Grading:
        task = self.running_task
        said = [f"say {one.text!r}" for one in task.communicate]
        reason = missing_text(grade.details) or "nothing is missing"
        return graded(
            question=task.scenario.as_text(),
            expected="; ".join([*map(str, task.actions), *said]) or "no call",
            extracted="; ".join(map(str, self.calls)) or None,
            score=grade.reward,
            reason=reason if is_over else f"the dialogue reached {ended_by}, and was not graded",
        )

    def sample_action(self, agent: str, rng: Random) -> Action:
        """Return a common phrase; of the assistant, sometimes a call."""
        if agent == USER:
            return rng.choice(_REPLIES)
        if rng.random() < 0.5:
            return '{"name": "think", "arguments": {"thought": "What does the policy say?"}}'
        return rng.choice(_PHRASES)


def _user_prefix(task: DialogueTask) -> str:
    """Return the scenario, with the functions of a user who has some."""
    scenario = f"{task.scenario.as_text()}\n\n"
    if task.domain.user_toolkit is None:
        return scenario
    functions = task.domain.user_toolkit.functions()
    return f"{scenario}{JSON.instructions(functions, rules=USER_RULES)}\n\n"


def _catalog(toolkit: type[Toolkit]) -> Catalog:
    if toolkit not in _CATALOGS:
        _CATALOGS[toolkit] = Catalog({toolkit.__name__: toolkit.functions()})
    return _CATALOGS[toolkit]
