r"""Mathematical problems from a dataset, answered in a box and graded by mathematical equality.

==============================  ======
answer                          reward
==============================  ======
equal to a gold answer             1.0
any other                          0.0
no box                         0.0, or -0.1 with ``use_format_error_reward``
==============================  ======

The last ``\boxed{...}`` counts. ``info`` contains the method that decided (``decided_by``: ``no
box``, or one of those of ``gem_math.grading``).
"""

from typing import Any, ClassVar, Unpack

from gem_core import Action, Observation
from gem_core.thoughts import Thoughts, check_thoughts
from gem_math.grading import grade
from gem_math.grading.allowance import check_deadlines
from gem_tasks import Answer, Grade, RowOptions, TaskEnv, gold_answers
from gem_tasks.parsing import NO_BOX, last_boxed
from gem_tasks.prompt import check_prompt, fill_prompt

__all__ = ["FORMAT_ERROR_REWARD", "INSTRUCTION", "MathEnv"]

FORMAT_ERROR_REWARD = -0.1

INSTRUCTION = (
    r"First reason step by step. Then put your final answer, and nothing else, in \boxed{}. "
    "Only the last box is read."
)
"""How to answer. The commands show it after the problem; ``prompt="default"`` does too."""


class MathEnv(TaskEnv):
    r"""One problem per episode, answered in ``\boxed{...}``.

    Args:
        question_key: The column of the problems, which are texts.
        answer_key: The column of the gold answers: a text or a number, or a list of alternatives.
        answer_after: The gold answer is what follows the last occurrence of this text, such as
            ``####``; None if it is the whole value.
        use_format_error_reward: Give a reward of -0.1 instead of 0 for an answer without a box.
        thoughts: Whether a box in a thought counts if there is none later (``count``, as in GEM) or
            not (``ignore``).
        prompt: The text around the problem, with ``{problem}`` in its place; other braces have no
            meaning. ``"default"`` adds how to answer; None shows the problem alone, to which the
            commands add how to answer.
        deadline: The processor time in seconds for comparing an answer with one gold answer in a
            worker; after it, they count as different.
        answer_deadline: The same for all gold answers of a problem together.
        rows: Where the rows come from and in which order, such as ``data`` and ``shuffle``, and how
            they are graded (``grader``, ``rewards``); see ``TaskEnv``.

    Raises:
        ConfigError: The prompt lacks ``{problem}``, a deadline is not positive, or the shard is
            malformed.
        DataError: The data cannot be used.
        HubError: The hub does not provide the dataset.
    """

    shared: ClassVar[tuple[str, ...]] = (
        "answer_after",
        "answer_deadline",
        "answer_key",
        "deadline",
        "prompt",
        "question_key",
        "thoughts",
        "use_format_error_reward",
    )
    answer_instruction = INSTRUCTION
    blocking = True
    """A step may wait for a worker."""

    def __init__(
        self,
        *,
        question_key: str = "problem",
        answer_key: str = "answer",
        answer_after: str | None = None,
        use_format_error_reward: bool = False,
        thoughts: Thoughts = "count",
        prompt: str | None = None,
        deadline: float = 1.0,
        answer_deadline: float = 5.0,
        **rows: Unpack[RowOptions],
    ) -> None:
        check_deadlines(deadline, answer_deadline)
        self.question_key = question_key
        self.answer_key = answer_key
        self.answer_after = answer_after
        self.use_format_error_reward = use_format_error_reward
        self.thoughts = check_thoughts(thoughts)
        if prompt == "default":
            prompt = f"{{problem}}\n\n{INSTRUCTION}"
        self.prompt = check_prompt(prompt, "problem")
        if prompt is not None:
            self.answer_instruction = ""
        self.deadline, self.answer_deadline = deadline, answer_deadline
        super().__init__(columns=self._columns(), **rows)

    def _columns(self) -> dict[str, Any]:
        return {self.question_key: str, self.answer_key: Answer}

    def question(self, row: dict[str, Any]) -> Observation:
        return fill_prompt(self.prompt, problem=row[self.question_key])

    @property
    def golds(self) -> tuple[str, ...]:
        """The gold answers to the current problem, without a box around them."""
        answers = gold_answers(self.row[self.answer_key], self.answer_after)
        return tuple(last_boxed(answer) or answer for answer in answers)

    def answer_in(self, response: str) -> str | None:
        return last_boxed(response)

    def grade(self, action: str) -> Grade:
        answer = self.answer_in(action)
        if answer is None:
            reward = FORMAT_ERROR_REWARD if self.use_format_error_reward else 0.0
            info = {"decided_by": "no box", "format_error": True}
            return Grade(reward, False, info, NO_BOX)
        deadlines = {"deadline": self.deadline, "answer_deadline": self.answer_deadline}
        verdict = grade(answer, self.golds, **deadlines)
        info = {"decided_by": verdict.decided_by}
        return Grade(float(verdict.correct), verdict.correct, info, verdict.reason)

    def solution(self) -> str:
        r"""Return a gold answer in a box: ``\boxed{1}``, or ``\boxed 1`` with unbalanced braces."""
        boxes = [box for gold in self.golds for box in (rf"\boxed{{{gold}}}", rf"\boxed {gold}")]
        return next((box for box in boxes if last_boxed(box) in self.golds), boxes[0])

    def feedback(self, grade: Grade) -> str:
        return "Correct." if grade.correct else f"Wrong. The answer is {self.golds[0]}."

    def sample_random_action(self) -> Action:
        return rf"\boxed{{{self.action_rng.randrange(1000)}}}"
