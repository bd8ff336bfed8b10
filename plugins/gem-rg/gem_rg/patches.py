"""Patches of reasoning-gym 0.1.25, applied in the workers.

They make scoring safe and correct, and one task fast. The questions and gold answers stay the same.
A patch that does not apply to the installed version is an error: without it, scoring could run code
that a model wrote.
"""

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module, metadata
from typing import Any

from gem_core.errors import PluginError
from gem_rg.catalog import VERSION

__all__ = ["apply_patches"]

_LARGEST_TERM = 10**100
_LISTS = (
    "reasoning_gym.algorithmic.binary_matrix",
    "reasoning_gym.algorithmic.spiral_matrix",
    "reasoning_gym.algorithmic.string_insertion",
    "reasoning_gym.games.n_queens",
)
"""Modules whose scorers call ``eval`` on an answer to read a list."""


def apply_patches() -> None:
    """Apply all patches.

    Raises:
        PluginError: The installed version lacks something that a patch changes.
    """
    for patch in (
        _stop_exploding_sequences,
        _read_lists_without_eval,
        _allow_only_formulas,
        _score_halting_by_its_answer,
        _require_the_given_numbers_of_24,
        _separate_difficulties_of_codeio,
    ):
        try:
            patch()
        except (ImportError, AttributeError) as error:
            raise PluginError(
                f"A patch of gem-rg ({patch.__name__.strip('_')}) does not apply to reasoning-gym "
                f"{metadata.version('reasoning-gym')}: {error}. gem-rg was tested with version "
                f"{VERSION}: pip install reasoning-gym=={VERSION}"
            ) from error


def _stop_exploding_sequences() -> None:
    """Reject a sequence that squares itself before its terms have millions of digits.

    The generator rejects it anyway, as it has a term above 1000; it expects an ``OverflowError``.
    """
    rule = import_module("reasoning_gym.cognition.number_sequences").PatternRule
    apply = rule.apply

    def bounded(self: Any, sequence: list[int], position: int) -> int:
        term: int = apply(self, sequence, position)
        if abs(term) > _LARGEST_TERM:
            raise OverflowError
        return term

    rule.apply = bounded


def _read_lists_without_eval() -> None:
    """Read lists in answers as literals."""
    for name in _LISTS:
        _replace_eval(name, ast.literal_eval)


def _allow_only_formulas() -> None:
    """Let the parser of sympy evaluate only numbers, symbols and formulas."""
    _replace_eval("sympy.parsing.sympy_parser", _evaluate_formula)


def _replace_eval(name: str, evaluate: Callable[..., Any]) -> None:
    """Replace ``eval`` in a module.

    Raises:
        AttributeError: The module does not use ``eval``.
    """
    module = import_module(name)
    nodes = ast.walk(ast.parse(inspect.getsource(module)))
    if not any(isinstance(node, ast.Name) and node.id == "eval" for node in nodes):
        raise AttributeError(f"module {name!r} does not call eval")
    module.eval = evaluate  # type: ignore[attr-defined]


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


def _score_halting_by_its_answer() -> None:
    """Compare the answer: the original compares truth values, so any text scores 1."""
    dataset = import_module("reasoning_gym.algorithmic.game_of_life_halting")

    def score_answer(_: Any, answer: str | None, entry: Mapping[str, Any]) -> float:
        return float((answer or "").strip().lower() == entry["answer"].lower())

    dataset.GameOfLifeHaltingDataset.score_answer = score_answer


def _require_the_given_numbers_of_24() -> None:
    """Check the numbers: the original accepts any four, so one answer would solve every item."""
    dataset = import_module("reasoning_gym.games.puzzle24").Puzzle24Dataset
    original = dataset.score_answer

    def score_answer(self: Any, answer: str | None, entry: Mapping[str, Any]) -> float:
        score: float = original(self, answer, entry)
        used = sorted(map(int, re.findall(r"\b\d+\b", answer or ""))) if score == 1.0 else []
        return 0.01 if used and used != sorted(entry["metadata"]["numbers"]) else score

    dataset.score_answer = score_answer


def _separate_difficulties_of_codeio() -> None:
    """Keep data per dataset: the original keeps it in the class, so the latest one wins."""
    dataset = import_module("reasoning_gym.code.codeio").CodeIODataset
    construct, get, _ = dataset.__init__, dataset.__getitem__, dataset._jsonl_data  # noqa: SLF001

    def __init__(self: Any, config: Any) -> None:  # noqa: N807 - replaces the original
        construct(self, config)
        self.own_data = dataset._jsonl_data  # noqa: SLF001 - there is no public name

    def __getitem__(self: Any, idx: int) -> Any:  # noqa: N807 - replaces the original
        dataset._jsonl_data = self.own_data  # noqa: SLF001 - there is no public name
        return get(self, idx)

    dataset.__init__, dataset.__getitem__ = __init__, __getitem__
