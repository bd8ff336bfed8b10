r"""Mathematical problems of a dataset: the answer stands in a box, and what is equal is right.

==============================  ======
what was answered               reward
==============================  ======
equal to a gold answer             1.0
anything else                      0.0
no box                         0.0, or -0.1 with ``use_format_error_reward``
==============================  ======

The last ``\boxed{...}`` counts. ``info`` says what was found in it (``answer``) and what decided
(``decided_by``: ``no box``, or as ``gem_math.grading`` has it).
"""

from typing import Any, ClassVar

from gem_core import Action, Observation
from gem_core.errors import ConfigError
from gem_core.parsing import last_boxed
from gem_math.grading import grade
from gem_tasks import Answer, Grade, TaskEnv, gold_answers
from gem_tasks.prompt import check_prompt, fill_prompt

__all__ = ["FORMAT_ERROR_REWARD", "MathEnv"]

FORMAT_ERROR_REWARD = -0.1


class MathEnv(TaskEnv):
    r"""One problem an episode, answered in ``\boxed{...}``.

    Args:
        dataset_name: ``org/name`` of a dataset on the hub, unless ``data`` is given.
        split: Split of the dataset; None if it has only one.
        data: Rows from elsewhere: files, a dataset, a list of mappings; see ``TaskEnv``.
        question_key: Column of the problems, of text.
        answer_key: Column of the gold answers: text or a number, or a list of which each is right.
        use_format_error_reward: Give -0.1 for an answer without a box instead of 0.
        prompt: Text around the problem, which stands where ``{problem}`` is; None for the problem
            as it is. Other braces are just braces.
        deadline: Seconds that comparing an answer may take in a worker; what takes longer is wrong.
        shuffle: A new order each epoch; False for the rows' own.
        shard: ``"i/n"``, the part of the rows to take.
        streaming: Read rows as they are needed.

    Raises:
        ConfigError: The prompt has no ``{problem}``, the deadline is not positive, or the shard is
            malformed.
        DataError: The data cannot be used.
        HubError: The hub does not give the dataset.
    """

    shared: ClassVar[tuple[str, ...]] = (
        "answer_key",
        "deadline",
        "prompt",
        "question_key",
        "use_format_error_reward",
    )
    blocking = True
    """What cannot be compared by looking waits for a worker, up to the deadline."""

    def __init__(
        self,
        *,
        dataset_name: str = "",
        split: str | None = None,
        data: Any = None,
        question_key: str = "problem",
        answer_key: str = "answer",
        use_format_error_reward: bool = False,
        prompt: str | None = None,
        deadline: float = 1.0,
        shuffle: bool = True,
        shard: str | None = None,
        streaming: bool = False,
    ) -> None:
        if not deadline > 0:
            raise ConfigError(f"deadline is a positive number of seconds; got {deadline!r}.")
        self.question_key = question_key
        self.answer_key = answer_key
        self.use_format_error_reward = use_format_error_reward
        self.prompt = check_prompt(prompt, "problem")
        self.deadline = deadline
        super().__init__(
            columns=self._columns(),
            dataset_name=dataset_name,
            split=split,
            data=data,
            shuffle=shuffle,
            shard=shard,
            streaming=streaming,
        )

    def _columns(self) -> dict[str, Any]:
        return {self.question_key: str, self.answer_key: Answer}

    def question(self, row: dict[str, Any]) -> Observation:
        return fill_prompt(self.prompt, "problem", row[self.question_key])

    @property
    def golds(self) -> tuple[str, ...]:
        """The right answers to the current problem, without a box around them."""
        answers = gold_answers(self.row[self.answer_key])
        return tuple(last_boxed(answer) or answer for answer in answers)

    def grade(self, action: str) -> Grade:
        answer = last_boxed(action)
        if answer is None:
            reward = FORMAT_ERROR_REWARD if self.use_format_error_reward else 0.0
            info = {"answer": None, "decided_by": "no box", "format_error": True}
            return Grade(reward, False, info)
        verdict = grade(answer, self.golds, deadline=self.deadline)
        info = {"answer": answer, "decided_by": verdict.decided_by}
        return Grade(float(verdict.correct), verdict.correct, info)

    def solution(self) -> str:
        r"""Return a gold answer in a box: ``\boxed 1``, where its braces do not balance."""
        boxes = [box for gold in self.golds for box in (rf"\boxed{{{gold}}}", rf"\boxed {gold}")]
        return next((box for box in boxes if last_boxed(box) in self.golds), boxes[0])

    def feedback(self, grade: Grade) -> str:
        return "Correct." if grade.correct else f"Wrong. The answer is {self.golds[0]}."

    def sample_random_action(self) -> Action:
        return rf"\boxed{{{self.action_rng.randrange(1000)}}}"
