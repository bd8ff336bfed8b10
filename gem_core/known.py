"""Which of gem-core's own distributions has which id, for messages about what is not installed."""

from importlib import metadata

__all__ = ["KNOWN", "install_hint"]

_IDS = {
    "environment": {
        "gem-code": "code eval:CodeContest",
        "gem-games": "game",
        "gem-math": "math eval:AIME24 eval:AMC eval:MATH500 eval:Minerva eval:OlympiadBench",
        "gem-qa": (
            "logic qa eval:2Wiki eval:Bamboogle eval:HotpotQA eval:Musique "
            "eval:NaturalQuestions eval:PopQA eval:QaOpen eval:TriviaQA"
        ),
        "gem-rg": "rg",
        "gem-rollout": "conformance",
        "gem-serve": "remote",
        "gem-tasks": "hf",
        "gem-tau": "tau tools",
        "gem-terminal": "terminal",
        "gem-tools": "mcp",
        "gem-web": "webshop",
    },
    "tool": {"gem-tools": "mcp python python_session search"},
    "wrapper": {
        "gem-rollout": "answer_instruction",
        "gem-tools": (
            "python_tool python_tool_no_int_reward python_tool_no_int_reward_last_line_error "
            "search_tool search_tool_no_int_reward"
        ),
    },
    "grader": {
        "gem-math": "math math-verify",
        "gem-qa": "exact-match f1",
        "gem-tasks": "correctness format judge length text",
    },
    "call format": {"gem-tools": "fenced hermes openai"},
    "agent": {
        "gem-agents": "openai transformers vllm",
        "gem-games": "WikiGame-reader",
        "gem-web": "webshop-first-hit",
    },
    "sandbox": {"gem-sandbox": "docker process warm"},
    "machine": {"gem-sandbox": "docker local process"},
    "executor": {"gem-serve": "ray", "gem-workers": "processes"},
    "pool": {"gem-serve": "ray", "gem-workers": "processes"},
    "suite": {"gem-rollout": "baselines games quick tools"},
    "kind": {
        "gem-rollout": "suites",
        "gem-serve": "harnesses",
        "gem-tasks": "graders",
        "gem-terminal": "cheats",
        "gem-train": "algorithms curricula filters losses shapers writers",
        "gem-workers": "pools",
    },
    "command": {
        "gem-adapters": "check-adapter rows",
        "gem-agents": "check-template",
        "gem-eval": "compare eval export replay view",
        "gem-rollout": "run",
        "gem-sandbox": "doctor",
        "gem-serve": "gateway harness serve",
        "gem-tau": "tau",
        "gem-terminal": "terminal",
        "gem-tools": "serve-search",
        "gem-train": "make-model train",
        "gem-web": "webshop",
    },
}
KNOWN: dict[str, dict[str, str]] = {
    kind: {one: distribution for distribution, ids in table.items() for one in ids.split()}
    for kind, table in _IDS.items()
}
"""The distribution of each id, by kind of spec. Of environments also that of a whole namespace."""


def install_hint(kind: str, spec_id: str) -> str:
    """Return a sentence that names the distribution to install for an id.

    Args:
        kind: Kind of the spec, such as ``environment``.
        spec_id: The id, or the config path ``math/Sample``.

    Returns:
        The sentence; empty if the distribution is installed, or the id is not in ``KNOWN``.
    """
    table = KNOWN.get(kind, {})
    spec_id = spec_id.replace("/", ":", 1)
    distribution = table.get(spec_id) or table.get(spec_id.partition(":")[0])
    if distribution is None:
        return ""
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return f"It is in {distribution}, which is not installed: pip install {distribution}."
    return ""
