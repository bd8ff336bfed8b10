"""Questions with short answers, graded by exact match with the gold answers."""

from typing import Any, ClassVar, Unpack

from gem_core.errors import DataError
from gem_core.observation import Action
from gem_core.thoughts import Thoughts, check_thoughts
from gem_qa.scoring import Compare, check_compare, exact_match, f1, unformatted
from gem_tasks import Answer, Grade, RowOptions, TaskEnv, gold_answers
from gem_tasks.parsing import NO_BOX, NO_TAG, last_boxed, last_tagged
from gem_tasks.prompt import check_prompt, fill_prompt

__all__ = ["BOXED_PROMPT", "TAGGED_PROMPT", "QaEnv"]

TAGGED_PROMPT = """\
Answer the question below. First reason it through, between <think> and </think>. Then state the \
final answer, and nothing else, between <answer> and </answer>: a name, a number, yes or no, or a \
few words, never a whole sentence.

Question: {question}
"""
"""The default prompt when the answer is read from ``<answer>`` tags."""

BOXED_PROMPT = """\
Answer the question below. First reason it through, step by step. Then state the final answer, \
and nothing else, in a box, written as \\boxed{answer} with your answer inside. Only the last \
box is read.

Question: {question}
"""
r"""The default prompt when the answer is read from the last ``\boxed{}``."""


class QaEnv(TaskEnv):
    r"""One question per episode; the reward is 1.0 for the right answer and 0.0 for any other.

    The answer is the content of the last ``<answer>`` tag of the response or, with
    ``extract_boxed``, of the last ``\boxed{}``. ``info`` of a step contains ``correct`` (bool),
    ``f1`` (float in [0, 1]) and ``grading``.

    Args:
        question_key: The column of the questions, which are texts.
        answer_key: The column of the gold answers: a text, number or bool, or a list of
            alternatives.
        extract_boxed: Read the answer from a box instead of a tag.
        thoughts: Whether an answer in a thought counts if there is none later (``count``, as in
            GEM) or not (``ignore``).
        compare: How answers are compared: ``text``, by their words and numbers; ``meaning``, where
            three is also 3, 15 percent 15% and Beyoncé Beyonce; or ``squad``, by SQuAD's own
            normalisation. See ``gem_qa.scoring``.
        prompt: The text around the question, with ``{question}`` in its place; other braces have
            no meaning. ``"default"`` asks for reasoning and for the expected form of the answer;
            None shows the question alone.
        rows: Where the rows come from and in which order, such as ``data`` and ``shuffle``, and how
            they are graded (``grader``, ``rewards``); see ``TaskEnv``.

    Raises:
        ConfigError: The prompt lacks ``{question}``, or the shard is malformed.
        DataError: The data cannot be used.
        HubError: The hub does not provide the dataset.
    """

    shared = ("prompt", "question_key", "answer_key", "extract_boxed", "compare", "thoughts")
    guesses: ClassVar[tuple[str, ...]] = ("True", "False", "yes", "no", "1", "2")
    """The answers that random actions choose from."""

    def __init__(
        self,
        *,
        question_key: str = "question",
        answer_key: str = "answer",
        extract_boxed: bool = False,
        thoughts: Thoughts = "count",
        compare: Compare = "text",
        prompt: str | None = "default",
        **rows: Unpack[RowOptions],
    ) -> None:
        if prompt == "default":
            prompt = BOXED_PROMPT if extract_boxed else TAGGED_PROMPT
        self.prompt = check_prompt(prompt, "question")
        self.question_key = question_key
        self.answer_key = answer_key
        self.extract_boxed = extract_boxed
        self.thoughts = check_thoughts(thoughts)
        self.compare = check_compare(compare)
        super().__init__(columns={question_key: str, answer_key: Answer}, **rows)

    def question(self, row: dict[str, Any]) -> str:
        if row[self.answer_key] == []:
            raise DataError(f"Row {self.idx} of {self.rows.origin} has an empty list of answers.")
        return fill_prompt(self.prompt, question=row[self.question_key])

    def answer_in(self, response: str) -> str | None:
        return last_boxed(response) if self.extract_boxed else last_tagged(response)

    def grade(self, action: str) -> Grade:
        answer = self.answer_in(action)
        if answer is None:
            reason = NO_BOX if self.extract_boxed else NO_TAG
            return Grade(0.0, False, {"f1": 0.0, "format_error": True}, reason)
        plain, golds = unformatted(answer), self.golds
        correct, score = exact_match(plain, golds, self.compare), f1(plain, golds, self.compare)
        reason = f"compared by {self.compare}, F1 {score:.2f}"
        return Grade(float(correct), correct, {"f1": score}, reason)

    @property
    def golds(self) -> tuple[str, ...]:
        """The gold answers to the current question."""
        return gold_answers(self.row[self.answer_key])

    def solution(self) -> str:
        responses = [self._response("I know this one.", gold) for gold in self.golds]
        return next((said for said in responses if self.grade(said).correct), responses[0])

    def feedback(self, grade: Grade) -> str:
        return "Correct." if grade.correct else f"Wrong. The answer is {self.golds[0]}."

    def sample_random_action(self) -> Action:
        return self._response("I can only guess.", self.action_rng.choice(self.guesses))

    def _response(self, thought: str, answer: str) -> str:
        if self.extract_boxed:
            return f"{thought} \\boxed{{{answer}}}"
        return f"<think>{thought}</think>\n<answer>{answer}</answer>"
