"""Questions with short answers: one question, one response, exact match against the golds."""

import re
from typing import Any, ClassVar

from gem_core.errors import DataError
from gem_core.observation import Action
from gem_core.parsing import last_boxed, last_tagged
from gem_qa.scoring import exact_match, f1
from gem_tasks import Answer, Grade, TaskEnv, gold_answers
from gem_tasks.prompt import check_prompt, fill_prompt

__all__ = ["BOXED_PROMPT", "TAGGED_PROMPT", "QaEnv"]

TAGGED_PROMPT = """\
Answer the question below. First reason it through, between <think> and </think>. Then state the \
final answer, and nothing else, between <answer> and </answer>: a name, a number, yes or no, or a \
few words, never a whole sentence.

Question: {question}
"""
"""The default where the answer is read from ``<answer>`` tags."""

BOXED_PROMPT = """\
Answer the question below. First reason it through, step by step. Then state the final answer, \
and nothing else, in a box, written as \\boxed{answer} with your answer inside. Only the last \
box is read.

Question: {question}
"""
r"""The default where the answer is read from the last ``\boxed{}``."""

# Models dress up even a bare word: \boxed{\text{True}}.
_DRESS = re.compile(r"\\(?:boxed|fbox|emph|operatorname|text[a-z]*|math[a-z]+)\s*\{")


class QaEnv(TaskEnv):
    r"""Ask a question; pay 1.0 for the right answer and 0.0 for anything else.

    The answer is what the last ``<answer>`` tag or, with ``extract_boxed``, the last ``\boxed{}``
    of the response holds. ``info`` of a step has ``correct`` (bool), ``f1`` (float in [0, 1]) and
    ``answer`` (what was read from the response; None if there was nothing to read).

    Args:
        dataset_name: ``org/name`` of a dataset on the hub, unless ``data`` is given.
        split: Split of the dataset; None if it has only one.
        data: Rows from elsewhere; see ``TaskEnv``.
        question_key: Column of the questions, texts.
        answer_key: Column of the answers: a text, number or bool each, or a list of which each is
            right.
        extract_boxed: Read the answer from a box instead of a tag.
        prompt: Text around the question, which stands where ``{question}`` is; other braces are
            just braces. ``"default"`` asks for the reasoning and for the form of the answer that
            is read; None shows the bare question.
        shuffle: A new order each epoch; see ``TaskEnv``.
        shard: ``"i/n"``, the part of the rows to take; see ``TaskEnv``.
        streaming: Read rows as they are needed.

    Raises:
        ConfigError: The prompt has no ``{question}``, or the shard is malformed.
        DataError: The data cannot be used.
        HubError: The hub does not give the dataset.
    """

    shared = ("prompt", "question_key", "answer_key", "extract_boxed")
    guesses: ClassVar[tuple[str, ...]] = ("True", "False", "yes", "no", "1", "2")
    """What a random action answers."""

    def __init__(
        self,
        *,
        dataset_name: str = "",
        split: str | None = None,
        data: Any = None,
        question_key: str = "question",
        answer_key: str = "answer",
        extract_boxed: bool = False,
        prompt: str | None = "default",
        shuffle: bool = True,
        shard: str | None = None,
        streaming: bool = False,
    ) -> None:
        if prompt == "default":
            prompt = BOXED_PROMPT if extract_boxed else TAGGED_PROMPT
        self.prompt = check_prompt(prompt, "question")
        self.question_key = question_key
        self.answer_key = answer_key
        self.extract_boxed = extract_boxed
        super().__init__(
            columns={question_key: str, answer_key: Answer},
            dataset_name=dataset_name,
            split=split,
            data=data,
            shuffle=shuffle,
            shard=shard,
            streaming=streaming,
        )

    def question(self, row: dict[str, Any]) -> str:
        if row[self.answer_key] == []:
            raise DataError(f"Row {self.idx} of {self.rows.origin} has an empty list of answers.")
        return fill_prompt(self.prompt, "question", row[self.question_key])

    def grade(self, action: str) -> Grade:
        answer = last_boxed(action) if self.extract_boxed else last_tagged(action)
        if answer is None:
            return Grade(0.0, False, {"f1": 0.0, "answer": None, "format_error": True})
        plain, golds = _DRESS.sub("", answer).strip("{} "), self.golds
        correct = exact_match(plain, golds)
        return Grade(float(correct), correct, {"f1": f1(plain, golds), "answer": answer})

    @property
    def golds(self) -> tuple[str, ...]:
        """The right answers to the current question, as texts."""
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
