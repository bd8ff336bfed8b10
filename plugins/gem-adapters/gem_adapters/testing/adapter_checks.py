"""The conformance suite of adapters: nine checks and a table of unusual inputs.

Each check plays cases with a harness and with ``play_tokens``, and compares the rows of each group
as multisets, as a framework may play the samples of a group in any order.
"""

import asyncio
import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gem_adapters.testing.adapter_envs import OPEN
from gem_adapters.testing.adapters import (
    FAULTY,
    FORGETFUL_TEMPLATE,
    Case,
    Harness,
    Misbehaviour,
    Played,
    ScriptedModel,
    case_rows,
    make_tokenizer,
    reference,
)
from gem_core.testing.report import CheckFailedError, require
from gem_rollout.episodes.policy import FaultPolicy
from gem_rollout.records.rows import Row
from gem_rollout.tokens.limits import Limits

__all__ = [
    "BAD_INPUTS",
    "CHECKS",
    "BadInput",
    "Result",
    "check_adapter",
    "check_bad_inputs",
    "make_case",
    "run_bad_input",
    "run_check",
]

SEEDS = 16
MANY = 64
_DEADLINE = 1.0
_ENDING_SECONDS = 60.0
_numbers = itertools.count()


@dataclass(frozen=True)
class Result:
    """The outcome of a check.

    Args:
        check: Its name.
        passed: Whether it passed; also False if it was skipped.
        skipped: Why it was skipped; empty if it was not.
        message: What failed: the first field and place that differ.
    """

    check: str
    passed: bool
    skipped: str = ""
    message: str = ""


class _SkippedError(Exception):
    """The check does not apply to the harness."""


def check_adapter(harness: Harness, checks: Iterable[str] | None = None) -> list[Result]:
    """Run checks of the suite.

    Args:
        harness: The harness of the adapter.
        checks: Names from ``CHECKS``; None for all.
    """
    return [run_check(harness, name) for name in (CHECKS if checks is None else checks)]


def check_bad_inputs(harness: Harness) -> list[Result]:
    """Return whether a harness treats each of ``BAD_INPUTS`` as the table requires."""
    return [run_bad_input(harness, name) for name in BAD_INPUTS]


def run_bad_input(harness: Harness, name: str) -> Result:
    """Return whether a harness treats an input as the table requires.

    Args:
        harness: The harness of the adapter.
        name: A name from ``BAD_INPUTS``.
    """
    bad = BAD_INPUTS[name]

    def check(harness: Harness) -> None:
        if bad.needs and bad.needs not in harness.takes:
            raise _SkippedError(f"the framework takes no {bad.needs}")
        bad.check(harness, bad.make())

    return _result(name, check, harness)


def run_check(harness: Harness, check: str) -> Result:
    """Run one check; an error of the framework is a failure.

    Args:
        harness: The harness of the adapter.
        check: A name from ``CHECKS``.
    """
    return _result(check, CHECKS[check], harness)


def _result(name: str, check: Callable[[Harness], None], harness: Harness) -> Result:
    try:
        check(harness)
    except _SkippedError as reason:
        return Result(name, passed=False, skipped=str(reason))
    except CheckFailedError as error:
        return Result(name, passed=False, message=str(error))
    except Exception as error:  # noqa: BLE001 - of somebody else's code
        return Result(name, passed=False, message=f"{type(error).__name__}: {error}")
    return Result(name, passed=True)


def make_case(rows: list[dict[str, Any]], *, misbehaves: Misbehaviour = "", **fields: Any) -> Case:
    """Return a case with the suite's tokenizer and model."""
    tokenizer = fields.pop("tokenizer", None) or make_tokenizer()
    model = ScriptedModel(tokenizer, misbehaves=misbehaves)
    return Case(rows=rows, model=model, tokenizer=tokenizer, **fields)


def _same_rows(harness: Harness) -> None:
    """Token ids, masks, log-probabilities and rewards are those of play_tokens, over 16 seeds."""
    for env in ("Game", "Sums", "Turns", "Asynchronous"):
        rows = [case_rows(env, seed=seed)[0] | {"index": seed} for seed in range(SEEDS)]
        _compare(harness, make_case(rows), env)


def _sampled_tokens(harness: Harness) -> None:
    """Sampled tokens are those of the engine; none is tokenised anew."""
    case = make_case(case_rows("Turns", 4)).fresh()
    odd = 0
    for place, row in _rows(_whole(_play(harness, case), "Turns")):
        for run in _runs(row, sampled=True):
            text = case.tokenizer.decode(run)
            require(
                tuple(run) in case.model.replies,
                f"{place}: mask marks the tokens {run} ({text!r}) as sampled, and the engine never "
                f"returned them",
            )
            odd += run != case.tokenizer.encode(text, add_special_tokens=False)
    require(odd, "No token is marked as sampled.")


def _groups(harness: Harness) -> None:
    """The episodes of a group share their start and differ in their replies."""
    case = make_case(case_rows("Game", 3), samples=8)
    played = _compare(harness, case, "Game")
    for group, episodes in enumerate(_grouped(played, case)):
        rows = [row for one in episodes for row in one.rows]
        require(len(rows) >= case.samples, f"group {group}: {len(rows)} rows of 8 samples")
        starts = {tuple(row.prompt_ids) for row in rows}
        require(len(starts) == 1, f"group {group}: prompt_ids has {len(starts)} values")
        replies = {tuple(row.response_ids) for row in rows}
        require(len(replies) > 1, f"group {group}: response_ids is the same in all samples")


def _faults(harness: Harness) -> None:
    """Errors of the environment and the engine, and deadlines, harm no other episode."""
    normal = case_rows("Game", 4)
    engine = [*normal, *case_rows("Turns", first=4, label=FAULTY)]
    deadline = FaultPolicy(turn_deadline=_DEADLINE)
    _faulty(harness, make_case([*normal, *case_rows("Failing", first=4)]), "environment's error")
    _faulty(harness, make_case(engine, misbehaves="raises"), "engine's error")
    hanging = [*normal, *case_rows("Hanging", first=4)]
    _faulty(harness, make_case(hanging, policy=deadline), "deadline")


def _concurrent(harness: Harness) -> None:
    """64 episodes that wait for each other are played at the same time."""
    if harness.concurrent:
        raise _SkippedError(harness.concurrent)
    name = f"meeting {next(_numbers)}"
    played = _play(harness, make_case(case_rows("Meeting", MANY, name=name, parties=MANY)))
    for place, row in _rows(_whole(played, "Meeting")):
        values = row.turn_rewards or [value for value in row.token_rewards or () if value]
        total = sum(values) if values else row.reward
        require(
            total == 1.0,
            f"{place}: the episode did not meet the other {MANY - 1} within 10 s: they are played "
            f"one after another (the reward is {total})",
        )


def _tool_results(harness: Harness) -> None:
    """Results of tools are tokens of the environment, which the mask leaves out."""
    case = make_case(case_rows("Sums", SEEDS))
    played = _compare(harness, case, "Sums")
    seen = 0
    for place, row in _rows(played):
        texts = {
            sampled: [case.tokenizer.decode(run) for run in _runs(row, sampled=sampled)]
            for sampled in (True, False)
        }
        wrong = [text for text in texts[True] if "Result:" in text]
        require(not wrong, f"{place}: mask marks the result of a tool as sampled: {wrong}")
        seen += sum("Result:" in text for text in texts[False])
    require(seen, "response_ids: no episode has the result of a tool")


def _limits(harness: Harness) -> None:
    """Limits of turns, responses and contexts are kept, and episodes marked as truncated."""
    if "limits" not in harness.takes:
        raise _SkippedError("the framework takes no limits")
    rows = case_rows("Turns", 4)
    first = max(len(one.rows[0].prompt_ids) for one in reference(make_case(rows)))
    for limits in (
        Limits(turn_tokens=4),
        Limits(response_tokens=150),
        Limits(context=first + 150),
        Limits(prompt_tokens=first, response_tokens=120, turn_tokens=6),
    ):
        what = ", ".join(f"{name}={value}" for name, value in vars(limits).items() if value)
        played = _compare(harness, make_case(rows, limits=limits), what)
        for place, row in _rows(played):
            _within(row, limits, f"{what}, {place}")


def _templates(harness: Harness) -> None:
    """A template that forgets replies raises and names the turn, or gives a row for each part."""
    tokenizer = make_tokenizer(chat_template=FORGETFUL_TEMPLATE)
    case = make_case(case_rows("Turns", 2), tokenizer=tokenizer)
    message = _error_of(harness, case)
    require(message, "one_sequence='raise': nothing was raised")
    require("turn 2" in message, f"the error does not name turn 2: {message}")
    if not harness.one_sequence:
        split = make_case(case_rows("Turns", 2), tokenizer=tokenizer, one_sequence="split")
        _compare(harness, split, "one_sequence='split'")


def _replies(harness: Harness) -> None:
    """Replies that cannot be trained on are faults; one without an end token is none."""
    rows = [*case_rows("Game", 3), *case_rows("Turns", first=3, label=FAULTY)]
    _compare(harness, make_case(rows, misbehaves="no_eos"), "reply without an end token")
    wrong: list[Misbehaviour] = ["empty", "past_eos"]
    if "logprobs" in harness.takes:
        wrong += ["no_logprobs", "short_logprobs", "nan_logprobs"]
    for how in wrong:
        _faulty(harness, make_case(rows, misbehaves=how), f"reply with {how}")


CHECKS: dict[str, Callable[[Harness], None]] = {
    "rows": _same_rows,
    "tokens": _sampled_tokens,
    "groups": _groups,
    "faults": _faults,
    "concurrency": _concurrent,
    "tools": _tool_results,
    "limits": _limits,
    "templates": _templates,
    "replies": _replies,
}
"""The nine checks; the docstring of each says what it requires."""


@dataclass(frozen=True)
class BadInput:
    """An input that must be refused, or must do no harm.

    Args:
        make: Makes the case.
        check: Plays it, and raises ``CheckFailedError``.
        needs: What the framework must take for it, from ``Harness.takes``; empty for nothing.
    """

    make: Callable[[], Case]
    check: Callable[[Harness, Case], None]
    needs: str = ""


def _refused(*words: str) -> Callable[[Harness, Case], None]:
    """Return a check that a case is refused with an error that has these words."""

    def check(harness: Harness, case: Case) -> None:
        message = _error_of(harness, case)
        missing = [word for word in words if word not in message]
        found = f"the error is {message!r}" if message else "nothing was raised"
        require(not missing, f"{found}; it must have {', '.join(missing)}")

    return check


def _accepted(harness: Harness, case: Case) -> None:
    """Require that a case has the rows of the reference."""
    _compare(harness, case, "accepted input")


def _accepted_or_refused(*words: str) -> Callable[[Harness, Case], None]:
    """Return a check that a case has the rows of the reference, or an error with these words."""

    def check(harness: Harness, case: Case) -> None:
        if _error_of(harness, case.fresh()):
            _refused(*words)(harness, case)
        else:
            _accepted(harness, case)

    return check


def _fault(harness: Harness, case: Case) -> None:
    """Require that the last row of a case ends as the harness declares for faults."""
    _faulty(harness, case, "fault of the engine")


def _cancelled(harness: Harness, case: Case) -> None:
    """Require that a cancelled case leaves no environment open, and no thread."""
    before, threads = len(OPEN), _step_threads()
    with contextlib.suppress(Exception, asyncio.CancelledError):
        harness.play(case)
    end = time.monotonic() + _ENDING_SECONDS
    while (len(OPEN) > before or _step_threads() - threads) and time.monotonic() < end:
        time.sleep(0.01)
    require(len(OPEN) <= before, f"{len(OPEN) - before} environments are still open")
    left = _step_threads() - threads
    require(not left, f"threads of steps are left: {', '.join(one.name for one in left)}")


def _step_threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("gem-rollout-")}


def _row(**changes: Any) -> Callable[[], Case]:
    def make() -> Case:
        row = {**case_rows("Game")[0], **changes}
        return make_case([{key: value for key, value in row.items() if value is not ...}])

    return make


def _numpy_seed(kind: str, value: float) -> Callable[[], Case]:
    def make() -> Case:
        import numpy as np  # noqa: PLC0415 - the libraries do without it

        return _row(seed=getattr(np, kind)(value))()

    return make


def _engine(misbehaves: Misbehaviour) -> Callable[[], Case]:
    def make() -> Case:
        rows = [*case_rows("Game", 3), *case_rows("Turns", first=3, label=FAULTY)]
        return make_case(rows, misbehaves=misbehaves)

    return make


def _tokenizer(**changes: Any) -> Callable[[], Case]:
    return lambda: make_case(case_rows("Game", 3), tokenizer=make_tokenizer(**changes))


BAD_INPUTS: dict[str, BadInput] = {
    "unknown environment": BadInput(_row(env="conformance:Gane"), _refused("conformance:Gane")),
    "unknown parameter": BadInput(_row(env_kwargs={"lable": "x"}), _refused("lable", "label")),
    "no seed": BadInput(_row(seed=...), _refused("seed")),
    "negative seed": BadInput(_row(seed=-1), _refused("seed", "-1")),
    "seed as text": BadInput(_row(seed="seven"), _refused("seed", "seven")),
    "fractional seed": BadInput(_row(seed=0.5), _refused("seed", "0.5")),
    "seed of numpy": BadInput(_numpy_seed("int64", 7), _accepted),
    "fractional seed of numpy": BadInput(_numpy_seed("float64", 7.0), _refused("seed", "7.0")),
    "colliding columns": BadInput(
        _row(prompt="Hello", label="x", reward=1.0, sample=5, group=5, answer="4"), _accepted
    ),
    "several agents": BadInput(_row(env="conformance:TwoAgents"), _refused("several agents")),
    "image": BadInput(_row(env="conformance:Picture"), _refused("image")),
    "long prompt": BadInput(
        lambda: make_case(case_rows("Game"), limits=Limits(prompt_tokens=7, response_tokens=64)),
        _refused("prompt", "7"),
        needs="limits",
    ),
    "no chat template": BadInput(_tokenizer(chat_template=None), _refused("chat template")),
    "no end token": BadInput(_tokenizer(eos_token=None), _accepted_or_refused("eos")),
    "no padding token": BadInput(_tokenizer(pad_token=None), _accepted_or_refused("pad")),
    "no reply": BadInput(_engine("none"), _fault),
    "empty reply": BadInput(_engine("empty"), _fault),
    "tokens past the end": BadInput(_engine("past_eos"), _fault),
    "cancelled": BadInput(_engine("cancels"), _cancelled),
}
"""The inputs by name."""


def _play(harness: Harness, case: Case) -> list[Played]:
    played = harness.play(case)
    count = len(case.rows) * case.samples
    require(
        len(played) == count, f"{harness.name} returned {len(played)} episodes instead of {count}"
    )
    return played


def _compare(harness: Harness, case: Case, what: str) -> list[Played]:
    """Play a case, and require that it has the rows of the reference."""
    expected, found = reference(case.fresh()), _whole(_play(harness, case.fresh()), what)
    pairs = zip(_grouped(expected, case), _grouped(found, case), strict=True)
    for group, (wanted, got) in enumerate(pairs):
        _compare_group(harness, wanted, got, f"{what}, row {group} of the case")
    return found


def _whole(played: list[Played], what: str) -> list[Played]:
    """Return the episodes; each must have rows to train on."""
    for episode, one in enumerate(played):
        require(
            one.outcome == "row" and one.rows,
            f"{what}: episode {episode} is {one.outcome} instead of row: {one.error}",
        )
    return played


def _faulty(harness: Harness, case: Case, what: str) -> None:
    """Play a case whose last row fails, and require the harness's outcome."""
    healthy = len(case.rows) - 1
    try:
        found = _play(harness, case.fresh())
    except CheckFailedError:
        raise
    except Exception as error:
        if harness.faults == "raised":
            return
        raise CheckFailedError(
            f"{what}: {type(error).__name__} was raised, and the declared outcome is "
            f"{harness.faults}: {error}"
        ) from error
    expected = reference(case.fresh())
    outcomes = {one.outcome for one in found[healthy * case.samples :]}
    require(
        outcomes == {harness.faults},
        f"{what}: the outcome is {', '.join(sorted(outcomes))} instead of {harness.faults}",
    )
    for one in found[healthy * case.samples :]:
        trained = any(any(row.mask) for row in one.rows)
        require(not trained, f"{what}: mask keeps tokens of the episode that failed")
    if harness.faults == "raised":
        return
    pairs = zip(_grouped(expected, case), _grouped(found, case), strict=True)
    for group, (wanted, got) in enumerate(itertools.islice(pairs, healthy)):
        where = f"{what}, row {group} of the case, which did not fail"
        require(all(one.outcome == "row" for one in got), f"{where}: the outcome is not row")
        _compare_group(harness, wanted, got, where)


def _grouped(played: Sequence[Played], case: Case) -> list[Sequence[Played]]:
    each = case.samples
    return [played[start : start + each] for start in range(0, len(played), each)]


def _compare_group(
    harness: Harness, expected: Sequence[Played], found: Sequence[Played], where: str
) -> None:
    wanted = sorted((row for one in expected for row in one.rows), key=_key)
    got = sorted((row for one in found for row in one.rows), key=_key)
    require(len(got) == len(wanted), f"{where}: {len(got)} rows instead of {len(wanted)}")
    fields = ["prompt_ids", "response_ids", "mask"]
    fields += [
        name for name in ("logprobs", "turn_rewards", "token_rewards") if _has(harness, name)
    ]
    fields += ["truncated"] if "truncated" in harness.takes else []
    fields += ["reward"] if "scalar" in harness.takes else []
    for one, other in zip(wanted, got, strict=True):
        for name in fields:
            _compare_field(getattr(one, name), getattr(other, name), f"{where}: {name}")


def _has(harness: Harness, name: str) -> bool:
    return name in harness.takes


def _key(row: Row) -> tuple[Any, ...]:
    return list(row.prompt_ids), list(row.response_ids)


def _compare_field(expected: Any, found: Any, where: str) -> None:
    if not isinstance(expected, list):
        require(_equal(expected, found), f"{where} is {found!r} instead of {expected!r}")
        return
    values = list(found or ())
    for place, (one, other) in enumerate(zip(expected, values, strict=False)):
        require(_equal(one, other), f"{where}[{place}] is {other!r} instead of {one!r}")
    require(
        len(values) == len(expected), f"{where} has {len(values)} values instead of {len(expected)}"
    )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-6)
    return bool(one == other)


def _rows(played: Iterable[Played]) -> Iterable[tuple[str, Row]]:
    for episode, one in enumerate(played):
        for row in one.rows:
            yield f"episode {episode}", row


def _runs(row: Row, *, sampled: bool) -> Iterable[list[int]]:
    """Yield the tokens of a response that the mask marks, one list for each unbroken run."""
    pairs = zip(row.response_ids, row.mask, strict=True)
    for is_sampled, run in itertools.groupby(pairs, key=lambda pair: bool(pair[1])):
        if is_sampled == sampled:
            yield [token for token, _ in run]


def _within(row: Row, limits: Limits, where: str) -> None:
    for name, tokens, most in (
        ("prompt_ids", len(row.prompt_ids), limits.prompt_tokens),
        ("response_ids", len(row.response_ids), limits.response_tokens),
        ("the context", len(row.prompt_ids) + len(row.response_ids), limits.context),
        ("a reply", max(map(len, _runs(row, sampled=True)), default=0), limits.turn_tokens),
    ):
        require(most is None or tokens <= most, f"{where}: {name} has {tokens} tokens")


def _error_of(harness: Harness, case: Case) -> str:
    """Return the message of the error of a harness; empty without one."""
    try:
        played = _play(harness, case)
    except CheckFailedError:
        raise
    except Exception as error:  # noqa: BLE001 - its text is checked
        return _chain(error)
    return " ".join(one.error for one in played if one.outcome == "raised")


def _chain(error: BaseException | None) -> str:
    """Return the messages of an error and its causes."""
    messages = []
    while error is not None:
        messages.append(str(error))
        error = error.__cause__
    return "\n".join(messages)
