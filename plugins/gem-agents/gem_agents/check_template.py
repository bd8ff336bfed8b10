"""``gem-core check-template``: check whether prompts extend the tokens of earlier turns."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from gem_agents.template_checks import Finding, check_template
from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_core.options import format_option, print_json
from gem_rollout.models.pretrained import find_pretrained

__all__ = ["command", "load_tokenizer"]

_STYLES = {"ok": "green", "breaks": "red", "refused": "yellow", "ignores tools": "yellow"}


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core check-template Qwen/Qwen3-8B\n"
    "  gem-core check-template Qwen/Qwen3-8B template.enable_thinking=false --format json\n"
    "  gem-core check-template runs/tiny chat_template=own.jinja"
)
@click.argument("model")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@format_option()
def command(model: str, words: tuple[str, ...], form: str) -> None:
    """Check that the chat template of MODEL preserves the tokens of earlier turns.

    MODEL is the id of a model of get-model, a folder, or a name on the hub. The exit status is 1 if
    a conversation breaks. With a template that ignores tools, use tool_use.instructions=text:
    agents refuse it with schemas. template.NAME=VALUE sets a variable of the template, and
    chat_template=FILE uses the template in a file instead of the model's own.
    """
    given = dict(map(_read, words))
    tokenizer = load_tokenizer(model)
    if file := given.pop("chat_template", None):
        tokenizer.chat_template = Path(file).read_text(encoding="utf-8")
    if not tokenizer.chat_template:
        raise ConfigError(f"The tokenizer of {model!r} has no chat template.")
    findings = check_template(tokenizer, **given)
    if form == "json":
        print_json([finding.to_dict() for finding in findings])
    else:
        from gem_rollout.tokens.template_proof import is_local  # noqa: PLC0415 - needs jinja2

        _print(findings, is_local=is_local(tokenizer.get_chat_template()))
    if any(finding.status == "breaks" for finding in findings):
        sys.exit(1)


def load_tokenizer(model: str) -> Any:
    """Return the tokenizer of a model.

    Args:
        model: The id of a registered model, a folder, or a name on the hub.

    Raises:
        ConfigError: The tokenizer cannot be loaded.
        NotInstalledError: transformers or jinja2 are not installed.
    """
    require("gem-agents[templates]", "A chat template")
    import transformers  # noqa: PLC0415 - optional, and takes seconds

    found, options = find_pretrained(model)
    try:
        return transformers.AutoTokenizer.from_pretrained(found, **options)
    except (OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise ConfigError(f"The tokenizer of {model!r} cannot be loaded: {first}") from error


def _read(word: str) -> tuple[str, Any]:
    """Return a variable of the template and its value, or ``chat_template`` and its file."""
    key, equals, value = word.partition("=")
    name = key.removeprefix("template.")
    if not equals or (name == key) is not (key == "chat_template"):
        raise ConfigError(f"Write template.NAME=VALUE or chat_template=FILE; got {word!r}.")
    return name, {"true": True, "false": False}.get(value.lower(), value)


def _print(findings: list[Finding], *, is_local: bool) -> None:
    console = Terminal(highlight=False, soft_wrap=True)
    for finding in findings:
        status = Text(finding.status, _STYLES[finding.status])
        console.print(f"{finding.name:28}", status, sep="")
        for line in _explained(finding).splitlines():
            console.print(f"    {line}")
    counts = [sum(one.status == status for one in findings) for status in _STYLES]
    text = "\n{} ok, {} break, {} refused by the template, {} with tools that it ignores"
    console.print(text.format(*counts))
    console.print(
        f"A turn of a long episode renders {'its end' if is_local else 'the whole chat'}."
    )


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
