"""``gem-core check-template``: check whether prompts extend the tokens of earlier turns."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from gem_agents.template_checks import Finding, check_template
from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.options import json_alone, print_json
from gem_rollout.models.pretrained import pretrained_options

__all__ = ["command", "load_tokenizer"]

_STYLES = {"ok": "green", "breaks": "red", "refused": "yellow"}


@click.command()
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--set",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a template variable, such as enable_thinking=false; may be repeated.",
)
@click.option(
    "--chat-template",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Use the template in this file instead of the model's own.",
)
def command(
    model: str, *, as_json: bool, variables: tuple[str, ...], chat_template: Path | None
) -> None:
    """Check that the chat template of MODEL preserves the tokens of earlier turns.

    MODEL is a folder, or a name on the hub. The exit status is 1 if a conversation breaks.
    """
    with json_alone("json" if as_json else ""):
        tokenizer = load_tokenizer(model)
        if chat_template is not None:
            tokenizer.chat_template = chat_template.read_text(encoding="utf-8")
        if not tokenizer.chat_template:
            raise ConfigError(f"The tokenizer of {model!r} has no chat template.")
        findings = check_template(tokenizer, **dict(map(_variable, variables)))
        if as_json:
            print_json([finding.to_dict() for finding in findings])
        else:
            _print(findings)
    if any(finding.status == "breaks" for finding in findings):
        sys.exit(1)


def load_tokenizer(model: str) -> Any:
    """Return the tokenizer of a model.

    Args:
        model: A folder, or a name on the hub.

    Raises:
        ConfigError: transformers or jinja2 are not installed, or the tokenizer cannot be loaded.
    """
    try:
        import jinja2  # noqa: F401, PLC0415 - without it, templates fail only when rendered
        import transformers  # noqa: PLC0415 - optional, and takes seconds
    except ImportError as error:
        raise ConfigError(
            f"Chat templates need {error.name}: pip install gem-agents[templates]."
        ) from error
    found = pretrained_options(model)
    try:
        return transformers.AutoTokenizer.from_pretrained(model, **found)
    except (OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise ConfigError(f"The tokenizer of {model!r} cannot be loaded: {first}") from error


def _variable(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set must have the form NAME=VALUE; got {text!r}.")
    return name, {"true": True, "false": False}.get(value.lower(), value)


def _print(findings: list[Finding]) -> None:
    console = Terminal(highlight=False, soft_wrap=True)
    for finding in findings:
        status = Text(finding.status, _STYLES[finding.status])
        console.print(f"{finding.name:28}", status, sep="")
        for line in _explained(finding).splitlines():
            console.print(f"    {line}")
    counts = [sum(one.status == status for one in findings) for status in _STYLES]
    console.print("\n{} ok, {} break, {} refused by the template".format(*counts))


def _explained(finding: Finding) -> str:
    problem = finding.problem
    if problem is None:
        return finding.message
    cause = {
        "text": "the template renders different text",
        "tokens": "the same text has different tokens",
    }[problem.cause]
    return (
        f"turn {problem.turn}, token {problem.position}: {cause}\n"
        f"before: {problem.expected!r} {problem.expected_ids}\n"
        f"now:    {problem.found!r} {problem.found_ids}"
    )
