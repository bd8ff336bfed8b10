r"""Grades mathematical answers with the grader of gem-math.

The functions have the parameters of gem-llm's. gem-llm has several comparisons with different
errors; here all of them are the same comparison.
"""

import itertools
import math
import re
import signal
import threading
from collections.abc import Callable
from typing import Any, Self

from gem.requirements import needs
from gem.utils.mathd import mathd_normalize_answer
from gem.utils.parsing import extract_last_boxed_answer, last_boxed_only_string, remove_boxed
from gem_tasks import gold_answers
from gem_tasks.parsing import last_boxed, last_tagged

with needs("gem-math"):
    from gem_math import grading

__all__ = [
    "TimeoutException",
    "answer_tag_reward_fn",
    "answer_tag_reward_fn_for_orz",
    "are_equal_under_sympy",
    "boxed_reward_fn",
    "count_unknown_letters_in_expr",
    "extract_answer",
    "extract_boxed_answer",
    "grade",
    "grade_answer_mathd",
    "grade_answer_sympy",
    "is_latex_equal",
    "is_value_equal",
    "last_boxed_only_string",
    "latex_eval",
    "mathd_normalize_answer",
    "normalize_final_answer",
    "numeric_equal",
    "r1_distill_qwen_math_reward_fn",
    "remove_boxed",
    "repeatness",
    "run_with_timeout_signal",
    "should_allow_eval",
    "split_tuple",
    "symbolic_equal",
    "timeout",
]

Rewarded = tuple[dict[str, bool], float]
"""``{"formatted": ...}``, and the reward."""


# Comparing


def _same(given: str | None, truth: str | None) -> bool:
    if given is None or truth is None:
        return given is truth
    return grading.grade(str(given), str(truth)).correct


def grade(model_answer: str, gt_answer: str, fast: bool = True) -> bool:
    r"""Return whether an answer is right.

    Args:
        model_answer: The answer, without its box.
        gt_answer: The right answer, with or without a ``\boxed{}``.
        fast: Ignored: computer algebra is used only if nothing else decides.
    """
    boxed = last_boxed(gt_answer) if "\\boxed" in gt_answer else None
    return _same(model_answer, boxed or gt_answer)


def grade_answer_mathd(given_answer: str, ground_truth: str) -> bool:
    """Return whether two answers are equal."""
    return _same(given_answer, ground_truth)


def grade_answer_sympy(given_answer: str, ground_truth: str) -> bool:
    """Return whether two answers are equal."""
    return _same(given_answer, ground_truth)


def is_latex_equal(given_answer: str, ground_truth: str) -> bool:
    """Return whether two answers are equal."""
    return _same(given_answer, ground_truth)


def is_value_equal(given_answer: str, ground_truth: str) -> bool:
    """Return whether two answers are equal."""
    return _same(given_answer, ground_truth)


def are_equal_under_sympy(ground_truth_normalized: str, given_normalized: str) -> bool:
    """Return whether two answers are equal."""
    return _same(given_normalized, ground_truth_normalized)


def symbolic_equal(a: Any, b: Any) -> bool:
    """Return whether two expressions are equal."""
    return _same(str(a), str(b))


def numeric_equal(prediction: float, reference: float) -> bool:
    """Return whether two numbers differ by no more than a ten-thousandth."""
    return math.isclose(reference, prediction, rel_tol=1e-4)


# Rewards of responses


def extract_answer(passage: str) -> str | None:
    r"""Return the content of the last ``\boxed{}``; None without one."""
    return extract_last_boxed_answer(passage)


def extract_boxed_answer(solution: str) -> str | None:
    r"""Return the content of the last ``\boxed{}``; None without one."""
    return extract_last_boxed_answer(solution)


def boxed_reward_fn(
    model_response: str,
    gt_answer: Any,
    fast: bool = False,
    correct_reward: float = 1.0,
    incorrect_reward: float = 0.0,
) -> Rewarded:
    r"""Grade the content of the last ``\boxed{}`` of a response.

    Args:
        model_response: The response.
        gt_answer: The right answer, or a list of right answers.
        fast: Ignored.
        correct_reward: Reward of a right answer.
        incorrect_reward: Reward of any other answer, and without one.
    """
    answer = last_boxed(model_response)
    correct = answer is not None and any(grade(answer, gold) for gold in gold_answers(gt_answer))
    return {"formatted": answer is not None}, correct_reward if correct else incorrect_reward


def r1_distill_qwen_math_reward_fn(
    model_response: str,
    gt_answer: Any,
    fast: bool = False,
    correct_reward: float = 1.0,
    incorrect_reward: float = 0.0,
) -> Rewarded:
    """Grade the box after the only ``</think>`` of a response; see ``boxed_reward_fn``."""
    _, *after = model_response.split("</think>")
    if len(after) != 1:
        return {"formatted": False}, 0.0
    return boxed_reward_fn(after[0], gt_answer, fast, correct_reward, incorrect_reward)


def answer_tag_reward_fn(
    model_response: str,
    gt_answer: Any,
    fast: bool = False,
    correct_reward: float = 1.0,
    incorrect_reward: float = 0.0,
) -> Rewarded:
    """Grade the last ``<answer>`` of a response whose thoughts end right before the first."""
    if "</think> <answer>" not in model_response:
        return {"formatted": False}, 0.0
    return answer_tag_reward_fn_for_orz(
        model_response, gt_answer, fast, correct_reward, incorrect_reward
    )


def answer_tag_reward_fn_for_orz(
    model_response: str,
    gt_answer: Any,
    fast: bool = False,
    correct_reward: float = 1.0,
    incorrect_reward: float = 0.0,
) -> Rewarded:
    """Grade the last ``<answer>`` of a response, or a box in it; see ``boxed_reward_fn``."""
    answer = last_tagged(model_response)
    if answer is None:
        return {"formatted": False}, 0.0
    if "\\boxed" in answer:
        answer = last_boxed(answer)
    correct = answer is not None and any(grade(answer, gold) for gold in gold_answers(gt_answer))
    return {"formatted": True}, correct_reward if correct else incorrect_reward


# Texts of answers

_UNITS = "|".join(
    (
        *("cent", "cm", "degree", "digit", "dollar", "edge", "feet", "ft", "gm", "hour", "inche"),
        *(
            "integer",
            "km",
            "meal",
            "meter",
            "minute",
            "mph",
            "multiple",
            "point",
            "pound",
            "square",
        ),
        *("student", "unit", "way"),
    )
)
_UNIT = re.compile(rf"(?:\\text\{{\s*|\b)(?:{_UNITS})s?\b(?:\s*\}})?")
_SIGNS = re.compile(r"\\[!,;% ]|\^\\circ|\\mathrm\{th\}|\\text\{\s*\}|[$%\"]")
_WORDS = re.compile(r"\\(?:text|textbf|mathrm|mbox|overline)\{(.*?)\}")


def normalize_final_answer(final_answer: str) -> str:
    r"""Return an answer in a plain form: without units, spaces and thousands separators.

    See appendix D.1 of Lewkowycz et al. 2022, "Solving Quantitative Reasoning Problems with
    Language Models".
    """
    answer = _WORDS.sub(r"\1", _SIGNS.sub("", _UNIT.sub("", final_answer)))
    answer = re.sub(r"(frac)([^{])(.)", r"\1{\2}{\3}", answer)
    answer = re.sub(r"(sqrt)([^{])", r"\1{\2}", answer)
    answer = re.sub(r"\s", "", answer)
    digits = answer.replace(",", "")
    return digits if digits.isdigit() else answer


def split_tuple(expr: str) -> list[str]:
    """Return the elements of a tuple or interval; for other texts, the text itself."""
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expr)
    if not plain:
        return []
    inside = plain[1:-1]
    if len(plain) > 2 and plain[0] in "([" and plain[-1] in ")]" and not set(inside) & set("()[]"):
        return [element.strip() for element in inside.split(",")]
    return [plain]


def count_unknown_letters_in_expr(expr: str) -> int:
    """Return the number of different letters in an expression, without sqrt and frac."""
    return len({one for one in expr.replace("sqrt", "").replace("frac", "") if one.isalpha()})


def should_allow_eval(expr: str) -> bool:
    """Return whether an expression is simple enough to evaluate: few letters, small powers."""
    if count_unknown_letters_in_expr(expr) > 2 or "^{" in expr or "^(" in expr:
        return False
    return re.search(r"\^[0-9]+\^|\^[0-9][0-9]+", expr) is None


def latex_eval(latex: str) -> Any:
    """Return the value of a LaTeX expression, as a number of sympy."""
    import sympy  # noqa: PLC0415 - it takes a second
    from latex2sympy2_extended import latex2sympy  # noqa: PLC0415 - as above

    return sympy.N(latex2sympy(latex))


def repeatness(s: str) -> bool:
    """Return whether a text repeats itself: its sorted suffixes have long common prefixes."""
    if not s:
        return False
    suffixes = sorted(s[start:] for start in range(len(s)))
    shared = sum(_common(one, other) for one, other in itertools.pairwise(suffixes))
    return shared * 2 / (len(s) * (len(s) + 1)) > 0.2


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


# Time limits


class TimeoutException(Exception):  # noqa: N818 - gem-llm's
    """A time limit was exceeded."""


class timeout:  # noqa: N801 - gem-llm's
    """Raise ``TimeoutException`` in a block that takes too long; in the main thread only.

    Args:
        seconds: The time limit.
        error_message: The message.

    Raises:
        ValueError: It is used in another thread, which cannot be interrupted.
    """

    def __init__(self, seconds: float = 1, error_message: str = "Timeout") -> None:
        self.seconds, self.error_message = seconds, error_message

    def handle_timeout(self, signum: int, frame: Any) -> None:
        """Raise the error; called by the alarm."""
        raise TimeoutException(self.error_message)

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGALRM, self.handle_timeout)
        self._rest, _ = signal.setitimer(signal.ITIMER_REAL, self.seconds)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._rest)  # an outer block goes on
        signal.signal(signal.SIGALRM, self._before)


def run_with_timeout_signal(
    func: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    timeout_seconds: float = 5,
) -> Any:
    """Return the result of a function; None if it raises or takes too long.

    Outside the main thread the function is not interrupted, but abandoned.
    """
    results: list[Any] = []

    def call() -> None:
        try:
            results.append(func(*args, **(kwargs or {})))
        except Exception:  # noqa: BLE001 - documented
            results.append(None)

    if threading.current_thread() is threading.main_thread():
        try:
            with timeout(timeout_seconds):
                call()
        except TimeoutException:
            return None
    else:
        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(timeout_seconds)
    return results[0] if results else None
