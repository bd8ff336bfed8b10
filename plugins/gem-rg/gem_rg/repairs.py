"""What reasoning-gym 0.1.25 gets wrong, put right inside the workers.

The questions and gold answers that it makes are left as they are; only how long they take, and
what wrong answers score, changes. Each repair is named for what holds after it.
"""

import ast
import contextlib
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

__all__ = ["repair"]

_LARGEST_TERM = 10**100
_LISTS = (
    "reasoning_gym.algorithmic.binary_matrix",
    "reasoning_gym.algorithmic.spiral_matrix",
    "reasoning_gym.algorithmic.string_insertion",
    "reasoning_gym.games.n_queens",
)
"""Modules whose scorers evaluate an answer in the hope of a list."""


def repair() -> None:
    """Make all repairs; one that another version of reasoning-gym has no place for is left out."""
    for one in (
        _number_sequences_end_early,
        _lists_are_read_not_evaluated,
        _formulas_run_no_code,
        _halting_is_scored_by_its_answer,
        _twenty_four_needs_its_own_numbers,
        _codeio_keeps_to_its_difficulty,
    ):
        with contextlib.suppress(ImportError, AttributeError):
            one()


def _number_sequences_end_early() -> None:
    """A sequence that squares itself is dropped before its numbers have millions of digits.

    The generator drops it anyway, as a term is above 1000; ``OverflowError`` is how it is told.
    """
    rule = import_module("reasoning_gym.cognition.number_sequences").PatternRule
    apply = rule.apply

    def bounded(self: Any, sequence: list[int], position: int) -> int:
        term: int = apply(self, sequence, position)
        if abs(term) > _LARGEST_TERM:
            raise OverflowError
        return term

    rule.apply = bounded


def _lists_are_read_not_evaluated() -> None:
    for name in _LISTS:
        import_module(name).eval = ast.literal_eval  # type: ignore[attr-defined]


def _formulas_run_no_code() -> None:
    """Sympy's parser evaluates what a model wrote: only numbers, symbols and formulas pass."""
    import_module("sympy.parsing.sympy_parser").eval = _evaluate_formula  # type: ignore[attr-defined]


def _evaluate_formula(code: str, names: dict[str, Any], local: Mapping[str, Any]) -> Any:
    for node in ast.walk(ast.parse(code, mode="eval")):
        if isinstance(node, ast.Attribute | ast.Lambda):
            raise ValueError("a formula has no attributes")  # noqa: TRY004 - not about a type
        if isinstance(node, ast.Name) and not _is_formula(local.get(node.id, names.get(node.id))):
            raise ValueError(f"{node.id!r} is not part of a formula")
    return eval(code, names, local)  # noqa: S307 - checked above


def _is_formula(value: Any) -> bool:
    sympy = import_module("sympy")
    kind = value if isinstance(value, type) else type(value)
    return issubclass(kind, sympy.Basic) or value in (sympy.sqrt, sympy.cbrt, sympy.root, abs)


def _halting_is_scored_by_its_answer() -> None:
    """The original compares truth values of texts: whatever is not empty scores 1."""
    module = import_module("reasoning_gym.algorithmic.game_of_life_halting")

    def score_answer(_: Any, answer: str | None, entry: Mapping[str, Any]) -> float:
        return float((answer or "").strip().lower() == entry["answer"].lower())

    module.GameOfLifeHaltingDataset.score_answer = score_answer


def _twenty_four_needs_its_own_numbers() -> None:
    """The original takes any four numbers in range, so one answer would solve every item."""
    dataset = import_module("reasoning_gym.games.puzzle24").Puzzle24Dataset
    original = dataset.score_answer

    def score_answer(self: Any, answer: str | None, entry: Mapping[str, Any]) -> float:
        score: float = original(self, answer, entry)
        used = sorted(map(int, re.findall(r"\b\d+\b", answer or ""))) if score == 1.0 else []
        return 0.01 if used and used != sorted(entry["metadata"]["numbers"]) else score

    dataset.score_answer = score_answer


def _codeio_keeps_to_its_difficulty() -> None:
    """The original keeps its data in the class: the dataset made last decides for all."""
    dataset = import_module("reasoning_gym.code.codeio").CodeIODataset
    construct, get = dataset.__init__, dataset.__getitem__

    def __init__(self: Any, config: Any) -> None:  # noqa: N807 - it becomes that
        construct(self, config)
        self.own_data = dataset._jsonl_data  # noqa: SLF001 - no other way to it

    def __getitem__(self: Any, idx: int) -> Any:  # noqa: N807 - it becomes that
        dataset._jsonl_data = self.own_data  # noqa: SLF001 - likewise
        return get(self, idx)

    dataset.__init__, dataset.__getitem__ = __init__, __getitem__
