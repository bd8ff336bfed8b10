"""Which of gem-core's own distributions has which id, for messages about what is not installed."""

from importlib import metadata

__all__ = ["KNOWN", "install_hint"]

KNOWN: dict[str, dict[str, str]] = {
    "environment": {
        "code": "gem-code",
        "game": "gem-games",
        "logic": "gem-qa",
        "math": "gem-math",
        "mcp": "gem-tools",
        "qa": "gem-qa",
        "rg": "gem-rg",
        "eval:2Wiki": "gem-qa",
        "eval:AIME24": "gem-math",
        "eval:AMC": "gem-math",
        "eval:Bamboogle": "gem-qa",
        "eval:CodeContest": "gem-code",
        "eval:HotpotQA": "gem-qa",
        "eval:MATH500": "gem-math",
        "eval:Minerva": "gem-math",
        "eval:Musique": "gem-qa",
        "eval:NaturalQuestions": "gem-qa",
        "eval:OlympiadBench": "gem-math",
        "eval:PopQA": "gem-qa",
        "eval:QaOpen": "gem-qa",
        "eval:TriviaQA": "gem-qa",
    },
    "tool": {
        "mcp": "gem-tools",
        "python": "gem-tools",
        "python_session": "gem-tools",
        "search": "gem-tools",
    },
    "wrapper": {
        "python_tool": "gem-tools",
        "python_tool_no_int_reward": "gem-tools",
        "python_tool_no_int_reward_last_line_error": "gem-tools",
        "search_tool": "gem-tools",
        "search_tool_no_int_reward": "gem-tools",
    },
    "call format": {
        "fenced": "gem-tools",
        "hermes": "gem-tools",
        "openai": "gem-tools",
    },
    "agent": {
        "openai": "gem-agents",
        "transformers": "gem-agents",
    },
    "sandbox": {
        "docker": "gem-sandbox",
        "process": "gem-sandbox",
        "warm": "gem-sandbox",
    },
    "executor": {
        "processes": "gem-workers",
    },
    "command": {
        "check-template": "gem-agents",
        "compare": "gem-eval",
        "doctor": "gem-sandbox",
        "eval": "gem-eval",
        "export": "gem-eval",
        "make-model": "gem-train",
        "replay": "gem-eval",
        "run": "gem-rollout",
        "serve": "gem-tools",
        "train": "gem-train",
        "view": "gem-eval",
    },
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
