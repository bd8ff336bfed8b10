"""Questions with short answers, graded by exact match."""

from collections.abc import Mapping
from typing import Any

from gem.envs.dataset_env import DatasetEnv
from gem.requirements import needs
from gem.utils.constants import TERMINAL_STATE
from gem.utils.parsing import extract_last_boxed_answer, extract_last_tagged_answer
from gem.utils.qa_em import em_check
from gem_tasks import Answer, gold_answers

with needs("gem-qa"):
    from gem_qa.env import BOXED_PROMPT, TAGGED_PROMPT

__all__ = ["QaEnv", "apply_prompt"]


def apply_prompt(
    example: dict[str, Any], question_key: str = "question", prompt: str = TAGGED_PROMPT
) -> dict[str, Any]:
    """Return a row with the question in a prompt that asks for thoughts and an answer in tags."""
    return {**example, question_key: prompt.replace("{question}", example[question_key])}


class QaEnv(DatasetEnv):
    r"""One question per episode; 1.0 for an answer that matches a right one.

    Args:
        dataset_name: ``org/name`` of a dataset on the hub, unless ``dataset`` is given.
        split: Split of the dataset; None if it has only one.
        dataset: Rows from elsewhere; see ``DatasetEnv.load``.
        question_key: Column of the questions.
        answer_key: Column of the answers: text, a number, or a list of right answers.
        seed: Seed of the order of rows.
        extract_boxed: Read the answer from the last ``\boxed{}`` instead of the last ``<answer>``;
            the prompt asks for it.
        load_from_cache_file: Whether to reuse prompts from the cache of ``datasets``.
        kwargs: Ignored.

    Raises:
        ConfigError: The rows are given as ``data``.
        DataError: The data cannot be used.
        HubError: The dataset cannot be fetched from the hub.
    """

    answer: Any
    """The right answer to the current question."""

    def __init__(
        self,
        dataset_name: str | None = "",
        split: str | None = None,
        dataset: Any = None,
        question_key: str = "question",
        answer_key: str = "answer",
        seed: int = 0,
        extract_boxed: bool = False,
        load_from_cache_file: bool = True,
        **kwargs: Any,
    ) -> None:
        self.question_key, self.answer_key = question_key, answer_key
        self.extract_boxed = extract_boxed
        self.extractor = extract_last_boxed_answer if extract_boxed else extract_last_tagged_answer
        self.load(
            {question_key: str, answer_key: Answer},
            dataset_name=dataset_name,
            split=split,
            dataset=dataset,
            ignored=kwargs,
            seed=seed,
        )
        arguments = {
            "question_key": question_key,
            "prompt": BOXED_PROMPT if extract_boxed else TAGGED_PROMPT,
        }
        if hasattr(self.dataset, "map"):
            self.dataset = self.dataset.map(
                apply_prompt, fn_kwargs=arguments, load_from_cache_file=load_from_cache_file
            )
        else:
            self.dataset = [apply_prompt(row, **arguments) for row in self.dataset]

    def take(self, row: Mapping[str, Any]) -> Any:
        self.answer = row[self.answer_key]
        return row[self.question_key]

    def step(self, action: Any) -> Any:
        """Grade an answer."""
        answer = self.extractor(action)
        correct = answer is not None and bool(self.check_correct(answer, self.answer))
        return TERMINAL_STATE, float(correct), True, True, {"correct": correct}

    @staticmethod
    def check_correct(model_answer: str, gt_answer: Any) -> bool:
        """Return whether an answer matches a right one.

        Raises:
            ValueError: ``gt_answer`` is not a text, number or list.
        """
        if not isinstance(gt_answer, str | int | float | list):
            raise ValueError(  # noqa: TRY004 - gem-llm's
                f"The right answer is text, a number or a list; got {gt_answer!r}."
            )
        return em_check(model_answer, list(gold_answers(gt_answer)))

    def sample_random_action(self) -> str:
        return r"\boxed{Hello World!}" if self.extract_boxed else "<answer>Hello World!</answer>"
