"""The table of the plugin's environments. Nothing here imports an environment."""

from collections.abc import Iterator
from typing import Any

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry
from gem_tasks.dataset_spec import DatasetSpec
from gem_tasks.grader import GraderSpec

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
_GRADERS = (
    ("exact-match", "ExactMatch", "1.0 for an exact match with a gold answer"),
    ("f1", "F1", "F1 of the words of the answer and a gold answer"),
)
_SAMPLE = "package://gem_qa/data/qa_sample.jsonl"
_ENTRY_POINT, _ORACLE = "gem_qa.env:QaEnv", "gem_tasks:GoldOracle"
_RULETAKER_DEPTHS = (0, 1, 2, 3, 5)


_METADATA = {
    "teaches": "to answer questions from knowledge, or by searching",
    "score": "1 for an answer equal to a gold one, 0 otherwise",
}
_LOGIC = _METADATA | {"teaches": "to reason with facts and rules"}
_OURS = {"data": "ours, in gem-qa", "license": "Apache-2.0"}
_YOURS = {"data": "yours", "license": "yours"}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register the graders, your own rows, the datasets, rule reasoning and the samples."""
    for name, grader, description in _GRADERS:
        entry_point = f"gem_qa.graders:{grader}"
        registry.add(GraderSpec(id=name, entry_point=entry_point, description=description))
    for spec in (_custom(), *_qa(), *_logic(), *_evaluation()):
        registry.add(spec)


def _qa() -> Iterator[EnvSpec]:
    for name, description in _TRAINING.items():
        kwargs = {"dataset_name": f"axon-rl/{name}", "split": "train", "question_key": "problem"}
        yield _spec(f"qa:{name}", description, **kwargs)
    yield _spec("qa:Sample", "general knowledge questions, shipped with gem-qa", data=_SAMPLE)


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
        terms="CC BY-SA 3.0",
    )
    for name, (split, description) in _EVALUATION.items():
        dataset = "axon-rl/search-eval"
        yield _spec(f"eval:{name}", description, dataset_name=dataset, split=split, shuffle=False)


def _spec(env_id: str, description: str, *, terms: str = "", **kwargs: Any) -> EnvSpec:
    facts = _LOGIC if env_id.startswith("logic:") else _METADATA
    return DatasetSpec(
        id=env_id,
        entry_point=_ENTRY_POINT,
        kwargs=kwargs,
        description=description,
        oracle=_ORACLE,
        return_range=(0.0, 1.0),
        other_rows="qa:Custom",
        metadata=facts
        | (_OURS if kwargs.get("data") else {})
        | ({"license": terms} if terms else {}),
    )


def _custom() -> EnvSpec:
    return EnvSpec(
        id="qa:Custom",
        entry_point=_ENTRY_POINT,
        description="your own questions, with data= or dataset_name=",
        oracle=_ORACLE,
        return_range=(0.0, 1.0),
        check_kwargs={"data": _SAMPLE},
        metadata=_METADATA | _YOURS,
    )
