r"""Questions of any dataset, whose answers are compared as texts or by a grader of your choice.

The ids ``hf:org/name`` are made with this environment. The reward is 1.0 for a correct answer and
0.0 for any other.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Unpack

from gem_core.errors import ConfigError
from gem_core.observation import Action
from gem_tasks.env import Answer, TaskEnv, gold_answers
from gem_tasks.grader import Attempt, Grade
from gem_tasks.parsing import NO_BOX, NO_TAG, last_boxed, last_tagged
from gem_tasks.prompt import check_prompt, fill_prompt
from gem_tasks.row_options import RowOptions
from gem_tasks.text_grader import same_text

__all__ = ["DatasetEnv"]

Form = Literal["boxed", "tagged", "text"]

_FORMS: dict[str, tuple[Callable[[str], str | None], str, str, str]] = {
    "boxed": (
        last_boxed,
        r"\boxed{%s}",
        r"First reason. Then write the final answer, and nothing else, in \boxed{}.",
        NO_BOX,
    ),
    "tagged": (
        last_tagged,
        "<answer>%s</answer>",
        "First reason. Then write the final answer alone between <answer> and </answer>.",
        NO_TAG,
    ),
    "text": (str.strip, "%s", "Write the answer and nothing else.", ""),
}
"""How the answer of each form is read and written, what a model is told, and what is said of a
reply without an answer."""


class DatasetEnv(TaskEnv):
    r"""One question per episode; without ``grader``, the answer must be the text of a gold answer.

    ``info`` of a step contains ``correct`` (bool) and ``grading``.

    Args:
        question_key: The column of the questions, which are texts.
        answer_key: The column of the gold answers: a text or a number, or a list of alternatives.
        form: How the answer is written: ``boxed`` (the last ``\boxed{}``), ``tagged`` (the last
            ``<answer>`` tag) or ``text`` (the whole response).
        answer_after: The gold answer is what follows the last occurrence of this text, such as
            ``####``; None if it is the whole value.
        prompt: The text around the question, with ``{question}`` in its place; None shows the
            question alone, to which the commands add how to answer.
        rows: Where the rows come from and in which order, and how they are graded; see ``TaskEnv``.

    Raises:
        ConfigError: The prompt lacks ``{question}``, or the form is unknown.
        DataError: The data cannot be used.
        HubError: The hub does not provide the dataset.
    """

    shared: ClassVar[tuple[str, ...]] = (
        "answer_after",
        "answer_key",
        "form",
        "prompt",
        "question_key",
    )

    def __init__(
        self,
        *,
        question_key: str = "question",
        answer_key: str = "answer",
        form: Form = "boxed",
        answer_after: str | None = None,
        prompt: str | None = None,
        **rows: Unpack[RowOptions],
    ) -> None:
        if form not in _FORMS:
            raise ConfigError(f"form must be one of {', '.join(_FORMS)}; got {form!r}.")
        self.question_key, self.answer_key = question_key, answer_key
        self.form, self.answer_after = form, answer_after
        self.prompt = check_prompt(prompt, "question")
        self.answer_instruction = "" if prompt is not None else _FORMS[form][2]
        super().__init__(columns={question_key: str, answer_key: Answer}, **rows)

    def question(self, row: dict[str, Any]) -> str:
        return fill_prompt(self.prompt, question=row[self.question_key])

    @property
    def golds(self) -> tuple[str, ...]:
        """The gold answers to the current question."""
        return gold_answers(self.row[self.answer_key], self.answer_after)

    def answer_in(self, response: str) -> str | None:
        return _FORMS[self.form][0](response)

    def grade(self, action: str) -> Grade:
        answer = self.answer_in(action)
        if answer is None:
            reason = _FORMS[self.form][3]
            return Grade(0.0, False, {"format_error": True}, reason)
        correct = same_text(Attempt("", action, answer, self.golds))
        return Grade(float(correct), correct, reason="compared by text")

    def solution(self) -> str:
        return _FORMS[self.form][1] % self.golds[0] if self.golds else ""

    def sample_random_action(self) -> Action:
        return _FORMS[self.form][1] % self.action_rng.randrange(1000)

    def feedback(self, grade: Grade) -> str:
        return "Correct." if grade.correct else f"Wrong. The answer is {'; '.join(self.golds)}."
