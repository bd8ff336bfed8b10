"""The table of the plugin's environments. Nothing here imports an environment."""

from collections.abc import Iterator
from typing import Any

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]

_TRAINING = {
    "NaturalQuestions": "questions that users asked a search engine",
    "HotpotQA": "questions that need facts from two articles",
}
_EVALUATION = {
    "2Wiki": ("2wiki", "questions that chain facts from several articles (2WikiMultiHopQA)"),
    "PopQA": ("popqa", "questions about entities that few people look up"),
    "TriviaQA": ("tq", "trivia questions"),
    "HotpotQA": ("hotpotqa", "questions that need facts from two articles"),
    "Bamboogle": ("bamboogle", "two-step questions that a search engine answers wrongly"),
    "NaturalQuestions": ("nq", "questions that users asked a search engine"),
    "Musique": ("musique", "questions composed of two to four simpler ones"),
}
_RULETAKER_DEPTHS = (0, 1, 2, 3, 5)


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register the training sets, the evaluation sets, rule reasoning and the samples."""
    for spec in (*_qa(), *_logic(), *_evaluation()):
        registry.add(spec)


def _qa() -> Iterator[EnvSpec]:
    for name, description in _TRAINING.items():
        kwargs = {"dataset_name": f"axon-rl/{name}", "split": "train", "question_key": "problem"}
        yield _spec(f"qa:{name}", description, **kwargs)
    sample = "package://gem_qa/data/qa_sample.jsonl"
    yield _spec("qa:Sample", "general knowledge questions, shipped with gem-qa", data=sample)


def _logic() -> Iterator[EnvSpec]:
    for depth in _RULETAKER_DEPTHS:
        yield _spec(
            f"logic:RuleTaker-d{depth}",
            f"does a statement follow from facts and rules, in up to {depth} steps?",
            dataset_name=f"axon-rl/RuleTaker-d{depth}-70k",
            split="train",
            extract_boxed=True,
        )
    yield _spec(
        "logic:Sample",
        "does a statement follow from facts and rules? Up to 3 steps, shipped with gem-qa",
        data="package://gem_qa/data/logic_sample.jsonl",
        extract_boxed=True,
    )


def _evaluation() -> Iterator[EnvSpec]:
    yield _spec(
        "eval:QaOpen",
        "questions that users asked a search engine, with alternative answers (NQ-open)",
        dataset_name="google-research-datasets/nq_open",
        split="validation",
        shuffle=False,
    )
    for name, (split, description) in _EVALUATION.items():
        kwargs = {"dataset_name": "axon-rl/search-eval", "split": split, "shuffle": False}
        yield _spec(f"eval:{name}", description, **kwargs)


def _spec(env_id: str, description: str, **kwargs: Any) -> EnvSpec:
    return EnvSpec(
        id=env_id,
        entry_point="gem_qa.env:QaEnv",
        kwargs=kwargs,
        description=description,
        oracle="gem_tasks:GoldOracle",
        return_range=(0.0, 1.0),
    )
