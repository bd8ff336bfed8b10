"""Commands of ``gem-core`` that Hydra configures, our own and those of plugins.

``HydraCommand`` makes a command of a function. A pydantic model declares the command's own keys;
the keys that choose environments, tools, wrappers and agents are there in every command. A
``GemError`` or ``OSError`` that the function raises is printed as one message, and the exit status
is 1. After Ctrl-C it is 130. docs/authoring.md has an example.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import click
import pydantic
from click.shell_completion import CompletionItem
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic.fields import FieldInfo

from gem_core.config import describe_validation_error
from gem_core.errors import ConfigError, GemError
from gem_core.notices import is_closed_pipe, results_alone
from gem_core.options import CLOSED_PIPE, json_alone, message_of, print_json
from gem_core.plugins import default_registry
from gem_core.specs import AGENTS, ENVS, TOOLS, WRAPPERS, Kind, load_entry_point
from gem_rollout.answer_instruction import DEFAULT, KEY
from gem_rollout.commands.again import Again, repeating
from gem_rollout.commands.agents import unusable
from gem_rollout.commands.chosen import Group
from gem_rollout.commands.completion import complete, description_of
from gem_rollout.commands.composition import WITHOUT_SECRETS, compose, flag_words
from gem_rollout.commands.words import Grammar
from gem_rollout.records.provenance import Observed
from gem_rollout.records.redaction import declared_by, hide, remembered, secrets_in, typed
from gem_rollout.records.runs import Run

__all__ = [
    "FAIL_ON_ERROR",
    "INTERRUPTED",
    "RUN_FOLDER",
    "CommandKeys",
    "HydraCommand",
    "Job",
    "check_values",
    "plain_config",
]

FAIL_ON_ERROR = 0.2
"""Default of the key ``fail_on_error``: the share of failed episodes that a command accepts."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""
RUN_FOLDER = "runs/${now:%Y-%m-%d}/${now:%H-%M-%S-%f}"
"""Default of the key ``out``: a folder named after the date and the time."""


class CommandKeys(pydantic.BaseModel):
    """Base class of a command's own keys. The docstring under a field is its line of help.

    A key without a default must be given. A key ``out`` is the folder that the command writes to.
    """

    model_config = pydantic.ConfigDict(use_attribute_docstrings=True, coerce_numbers_to_str=True)


K = TypeVar("K", bound=pydantic.BaseModel)


@dataclass(frozen=True)
class Job(Generic[K]):
    """One run of a command.

    Args:
        keys: The command's own keys, checked.
        config: The whole configuration as dicts and lists.
        form: The value of ``--format``.
        folder: The folder ``out``; in a sweep a folder below it. The working directory for a
            command without the key ``out``.
        words: The overrides.
        command: The command and its overrides, to be recorded or typed again.
        again: The run that the command repeats, if it does.
    """

    keys: K
    config: dict[str, Any]
    form: str
    folder: Path
    words: list[str]
    command: list[str]
    again: Again | None = None

    def facts_of(self, run: Run) -> Observed:
        """Return what adds facts to a run, and compares them with those of the run repeated."""
        again = self.again
        return Observed(run) if again is None else Observed(run, again.info, again.path)

    def print_json(self, value: object) -> None:
        """Print the result of the format ``json``; in a sweep, on one line for each job."""
        print_json(value, on_one_line=HydraConfig.get().mode is RunMode.MULTIRUN)


_SHARED = {
    "ID, PATTERN": "Environments: game:Sudoku-v0-easy, 'game:*-easy'. "
    "'gem-core list' shows all ids.",
    "env.NAME=VALUE": "A parameter of the environment. 'gem-core show ID' lists them.",
    "envs=[ID,...]": "Several environments, each alone; with parameters: "
    "'envs=[{id: math:Sample, shuffle: false}, qa:Sample]'.",
    "+env@envs.NAME=ID": "The same, with a name for tables; envs.NAME.PARAMETER=VALUE.",
    "suite=ID": "The environments and settings of a suite. 'gem-core list --kind suites' shows all "
    "ids.",
    "agent=ID": "Agents: agent=oracle, agent=[oracle,random], +agent@agent.NAME=ID. "
    "'gem-core list --kind agents' shows all ids.",
    "agent.NAME=VALUE": "A parameter of the agent; agent.ID.NAME=VALUE if there are several.",
    "tools=[ID,...]": "Tools that the agent may call; tools.ID.NAME=VALUE sets a parameter.",
    "tool_use.NAME=VALUE": "A parameter of the wrapper that runs tools: tool_use.max_tool_uses=3.",
    "wrappers=[ID,...]": "Wrappers, the innermost first; wrappers.ID.NAME=VALUE sets a parameter.",
    "mixture.NAME.id=ID": "Several environments as one, drawn by mixture.NAME.weight=WEIGHT.",
    "KEY=@FILE": "The text of a file, for any key: agent.system=@system.txt.",
    f"{KEY}=default": "Text after the first observation that says how to answer. The default is "
    "the environment's own, if its tasks do not say so; null for none.",
}
_OF_EXECUTOR = {
    "executor=ID": "The workers in which episodes are played: processes, ray. By default they are "
    "played in this process.",
    "executor.NAME=VALUE": "A parameter of the workers: executor.address=auto.",
}
_FLAGS = [
    click.Option(
        ["-m", "--multirun"],
        is_flag=True,
        help="Run once for each combination of values separated by commas: seed=0,1,2.",
    ),
    click.Option(
        ["--cfg"],
        type=click.Choice(["job", "hydra", "all"]),
        help="Print the composed configuration and exit.",
    ),
    click.Option(
        ["--info"], help="Print what Hydra composes from, and exit: defaults, plugins, ..."
    ),
    click.Option(["--config-dir"], help="A folder with configurations of your own."),
    click.Option(["--config-name"], help="A configuration of your own, instead of this command's."),
]

_AGAIN = click.Option(
    ["--again"],
    metavar="RUN",
    help="Repeat the run of this folder, with its configuration; further words change it.",
)


_INSTRUCTION = FieldInfo(annotation=str | None, description="How to answer; null for nothing.")


class HydraCommand(click.Command):
    """A command that Hydra configures; the entry point of a spec of a command.

    Args:
        name: What is typed after ``gem-core``.
        function: Does the work. It returns the exit status, None for 0. Its docstring is the
            command's help.
        keys: The command's own keys.
        agents: Ids of the default agents; None for a command without agents.
        groups: Further groups of Hydra, with the options that each has by default: an id, None, or
            a list. They are those of a ``Kind``, or the command stores their options.
        formats: Values of ``--format``, the default one first.
        examples: Lines for ``--help``.
        further: Returns further words, given the values that were typed by key. Those whose keys
            were typed are left out.
        subject: The group of the first word without a ``=``; empty if that is an environment.
        subcommands: Entry points of further commands, by the word that follows ``name``.
        executor: Whether it has the key ``executor``; then its function calls ``executor_of``.
        again: Whether it has the option ``--again``; then its function makes a ``Run``.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Job[Any]], int | None],
        keys: type[pydantic.BaseModel],
        *,
        agents: Sequence[str] | None = (),
        groups: Mapping[str, str | list[str] | None] | None = None,
        formats: Sequence[str] = ("table", "json"),
        examples: Sequence[str] = (),
        further: Callable[[Mapping[str, str]], Iterable[str]] | None = None,
        subject: str = "",
        subcommands: Mapping[str, str] | None = None,
        executor: bool = False,
        again: bool = False,
    ) -> None:
        words = click.Argument(
            ["words"],
            nargs=-1,
            metavar="[ID|PATTERN|KEY=VALUE]...",
            shell_complete=self._complete,
        )
        form = click.Option(
            ["--format", "form"],
            type=click.Choice(formats),
            default=formats[0],
            show_default=True,
            help="What to print on the standard output.",
        )
        super().__init__(
            name,
            callback=self._run,
            params=[words, form, *([_AGAIN] if again else []), *_FLAGS],
            help=function.__doc__,
            epilog="\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples),
        )
        self._function = function
        self._keys = keys
        self._agents = agents
        self._groups = {**(groups or {}), **({"executor": None} if executor else {})}
        self._formats = formats
        self._further, self._subject = further, subject
        self.subcommands = dict(subcommands or {})

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context; that of a subcommand if the first word names one."""
        if args and args[0] in self.subcommands:
            with results_alone():
                command: click.Command = load_entry_point(self.subcommands[args[0]])
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; a key that was written as an option is answered with its spelling."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            if name not in self._grammar().keys:
                raise
            raise click.UsageError(
                f"No such option {error.option_name!r}. Write {name}=VALUE.", ctx
            ) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the keys, then the options."""
        shared = [
            (name, text)
            for name, text in {
                **_SHARED,
                **(_OF_EXECUTOR if "executor" in self._groups else {}),
            }.items()
            if self._agents is not None or not name.startswith("agent")
        ]
        with formatter.section("Environments and agents"):
            formatter.write_dl(shared)
        with formatter.section("Keys"):
            formatter.write_dl(list(_help_of_keys(self._keys, self._groups)))
        for name, kind in self._kinds().items():
            with formatter.section(f"{kind.name.capitalize()}, {name}="):
                specs = default_registry().list(kind)
                formatter.write_dl([(spec.id, spec.description) for spec in specs])
                formatter.write_text(f"'gem-core show ID --kind {kind.id}' lists the parameters.")
        super().format_options(ctx, formatter)

    def _complete(
        self, ctx: click.Context, _param: click.Parameter, start: str
    ) -> list[CompletionItem]:
        return complete(self._grammar(), ctx.params.get("words") or (), start)

    def _run(self, words: tuple[str, ...], form: str, **flags: Any) -> int:
        _set_up_libraries()
        with declared_by(self._keys), remembered(secrets_in({}, words)):
            try:
                prints_config = flags["cfg"] or flags["info"]
                with json_alone("" if prints_config else form):
                    return self._run_words(words, form, flags)
            except GemError as error:
                error.args = (hide(str(error)), *error.args[1:])
                raise

    def _run_words(self, words: Sequence[str], form: str, flags: dict[str, Any]) -> int:
        is_own = bool(flags["config_dir"] or flags["config_name"])
        program, again = f"gem-core {self.name}", None
        if path := flags.pop("again", None):
            again = Again.of(path, program)
            if is_own:
                raise ConfigError("--again composes the configuration of a run: give no other.")
        with results_alone():
            grammar = self._grammar()
            if again is not None:
                grammar = grammar.repeating(again.config(grammar.keys))
                for line in again.unknown(grammar.keys):
                    click.echo(line, err=True)
            overrides = grammar.overrides(words, is_sweep=flags["multirun"], is_own=is_own)
        for override in overrides:
            key, _, value = override.partition("=")
            if key == "out":
                _check_out(value)
        store = program.replace(" ", "-")
        node = self._node()
        if again is not None:
            node = repeating(node, grammar.kept(overrides))
        ConfigStore.instance().store(name=store, node=node)
        statuses: list[int] = []

        def task(config: DictConfig) -> None:
            statuses.append(self._play(config, overrides, form, again))

        typed_keys = [override.partition("=")[0] for override in overrides]
        hidden = [word for word in WITHOUT_SECRETS if word.partition("=")[0] not in typed_keys]
        compose(task, store, [program, *flag_words(flags), *hidden, *overrides], flags)
        return max(statuses, default=0)

    def _node(self) -> dict[str, Any]:
        """Return the command's own configuration, for Hydra to compose with."""
        own = _defaults(self._keys)
        out = "${out}" if "out" in own else "."
        agents = [] if self._agents is None else [{"agent": list(self._agents)}]
        return {
            "defaults": [
                "_self_",
                *({group: option} for group, option in self._groups.items()),
                {"env": None},
                {"tools": []},
                {"wrappers": []},
                *agents,
                {"override hydra/job_logging": "none"},
                {"override hydra/hydra_logging": "none"},
            ],
            "envs": None,
            "mixture": {},
            "tool_use": {},
            KEY: DEFAULT,
            **({"executor": {}} if "executor" in self._groups else {}),
            **{
                name: value
                for name, value in own.items()
                if name not in self._groups or isinstance(value, dict)
            },
            "hydra": {
                "output_subdir": None,
                "run": {"dir": out},
                "sweep": {"dir": out, "subdir": "${hydra.job.num}" if "out" in own else "."},
                "job": {"chdir": False},
            },
        }

    def _kinds(self) -> dict[str, Kind[Any]]:
        """Return the kinds of the further groups whose options are specs."""
        kinds = {kind.group: kind for kind in default_registry().kinds() if kind.group}
        return {name: kinds[name] for name in self._groups if name in kinds}

    def _grammar(self) -> Grammar:
        """Return what may be typed after the command."""
        groups = {"env": Group(ENVS), "tools": Group(TOOLS), "wrappers": Group(WRAPPERS)}
        if self._agents is not None:
            groups["agent"] = Group(AGENTS, self._agents)
        for name, kind in self._kinds().items():
            default = self._groups[name] or []
            field = self._keys.model_fields.get(name)
            groups[name] = Group(
                kind,
                [default] if isinstance(default, str) else default,
                getattr(field and field.annotation, "model_fields", ()),
            )
        keys = [*groups, *self._groups, "suite", *self._node()]
        return Grammar(
            keys=[one for one in dict.fromkeys(keys) if one != "defaults"],
            groups=groups,
            fields={KEY: _INSTRUCTION, **dict(_fields(self._keys))},
            subject=self._subject,
            further=self._further,
        )

    def _play(self, config: DictConfig, words: list[str], form: str, again: Again | None) -> int:
        """Call the function; return the exit status, or exit after Ctrl-C."""
        try:
            plain = plain_config(config)
            if again is not None:
                again.check(plain)
            flag = [] if again is None else [f"--again={again.path}"]
            job = Job(
                keys=check_values(self._keys, plain),
                config=plain,
                form=form,
                folder=Path(HydraConfig.get().runtime.output_dir),
                words=words,
                command=["gem-core", *str(self.name).split(), *flag, *words],
                again=again,
            )
            status = self._function(job) or 0
        except (GemError, OSError) as error:
            if is_closed_pipe(error):
                sys.exit(CLOSED_PIPE)
            click.echo(f"Error: {hide(message_of(error))}", err=True)
            if "out" in self._keys.model_fields:
                with suppress(OSError):  # not empty
                    Path(HydraConfig.get().runtime.output_dir).rmdir()  # Hydra has made it
            return 1
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            sys.exit(INTERRUPTED)
        if status == INTERRUPTED:
            sys.exit(INTERRUPTED)  # the rest of a sweep as well
        return status


def _check_out(value: str) -> None:
    if not value or "\0" in value:
        raise ConfigError(f"out={value!r} is not the name of a folder.")
    if value.endswith(".jsonl") or Path(value).is_file():
        raise ConfigError(
            f"out={value}: out is a folder, and the episodes are in its trajectories.jsonl."
        )


def _defaults(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        value: Any = "???" if field.is_required() else field.get_default(call_default_factory=True)
        is_model = isinstance(value, pydantic.BaseModel)
        values[name] = value.model_dump(mode="json") if is_model else value
    return values


def _fields(model: type[pydantic.BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield the keys by their full names, those of nested models one by one."""
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, pydantic.BaseModel):
            yield from _fields(type(default), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _help_of_keys(
    model: type[pydantic.BaseModel], groups: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield ``key=default`` and the description of each key."""
    for name, field in _fields(model):
        default = groups.get(name, field.get_default(call_default_factory=True))
        shown = "..." if field.is_required() else _shown(default)
        text = description_of(field)
        yield f"{name}={shown}", f"Required. {text}" if field.is_required() else text


def _shown(value: Any) -> str:
    """Return a default as it is typed."""
    return "runs/DATE/TIME" if value == RUN_FOLDER else typed(value)


def plain_config(config: DictConfig) -> dict[str, Any]:
    """Return a composed configuration as dicts and lists, with interpolations resolved.

    Raises:
        ConfigError: A value is missing, or an interpolation leads nowhere.
    """
    try:
        plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        line = str(error).splitlines()[0]
        raise ConfigError(
            f"{error.full_key} needs a value: {error.full_key}=... ({line})"
        ) from error
    return plain  # type: ignore[no-any-return]


def check_values(model: type[K], config: Mapping[str, Any]) -> K:
    """Return a command's own keys as their model.

    Raises:
        ConfigError: The message has one line for each value that cannot be used.
    """
    own = {name: config[name] for name in model.model_fields if name in config}
    try:
        return model.model_validate(own)
    except pydantic.ValidationError as error:
        raise unusable(describe_validation_error(error)) from error


def _set_up_libraries() -> None:
    """Set what libraries read when they are imported, unless the user has.

    No progress bars of transformers and the hub are drawn over those of the command. Threads of
    torch that wait for others sleep: otherwise they take the cores from those that they wait for.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if (imported := sys.modules.get("transformers.utils.logging")) is not None:
        imported.disable_progress_bar()
