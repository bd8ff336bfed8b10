"""Runs Hydra for a command. An error is one message, and no configuration is shown with secrets.

Hydra itself would print a traceback and the overrides as they were typed, store them in
``multirun.yaml``, and print them for ``--cfg``. What is secret depends on the parts that the whole
configuration chooses, so Hydra always prints all of it, and the rest is left out here.
"""

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import click
import hydra
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from gem_core.errors import ConfigError, GemError
from gem_core.options import message_of
from gem_rollout.records.redaction import HIDDEN, hide, redact, redact_words, remembered, secrets_in
from gem_rollout.records.store import private

__all__ = ["WITHOUT_SECRETS", "SweepFile", "compose", "flag_words"]

WITHOUT_SECRETS = (
    "++hydra.callbacks.gem={_target_: gem_rollout.commands.composition.SweepFile}",
    "hydra.output_subdir=null",
)
"""Overrides by which Hydra writes no secrets, also for a configuration of the user's own."""


_CONFIG = "Config\n******\n"
"""The heading of the configuration, which is the last part of the output of ``--info``."""


class SweepFile(Callback):
    """Takes the secrets out of the file ``multirun.yaml`` that Hydra writes for a sweep."""

    _path: ClassVar[Path | None] = None
    _is_clean: ClassVar[bool] = False

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Note the path of the file."""
        SweepFile._path = Path(config.hydra.sweep.dir) / "multirun.yaml"
        SweepFile._is_clean = False

    def on_job_start(self, config: DictConfig, **_: Any) -> None:
        """Write the file again, without the secrets of this job's configuration."""
        path = SweepFile._path
        if path is None or not path.is_file():
            return
        sweep = _plain(path.read_text("utf-8"))
        shown = _without_secrets(sweep, _plain(config))
        path.unlink()
        with open(path, "w", encoding="utf-8", opener=private) as file:
            file.write(OmegaConf.to_yaml(shown))
        SweepFile._is_clean = True

    @classmethod
    def end(cls) -> None:
        """Delete the file of a sweep without jobs: its secrets are not known."""
        if cls._path is not None and not cls._is_clean:
            cls._path.unlink(missing_ok=True)
        cls._path = None


def _plain(config: Any) -> Any:
    """Return a configuration, or its text, as dicts and lists; interpolations stay."""
    return OmegaConf.to_container(OmegaConf.create(config))


def _without_secrets(shown: Mapping[str, Any], config: Any) -> dict[str, Any]:
    """Return a configuration without secrets, also in what Hydra records of the command line.

    Args:
        shown: The configuration.
        config: The configuration of a job, which has the parts that the command line chooses.
    """
    masked: dict[str, Any] = redact(shown, text_keys=False)
    own = masked.get("hydra") or {}
    if "overrides" in own:
        own["overrides"]["task"] = redact_words(shown["hydra"]["overrides"]["task"], config)
    if "override_dirname" in own.get("job", {}):
        own["job"]["override_dirname"] = HIDDEN
    return masked


def compose(
    call: Callable[[DictConfig], None], store: str, argv: list[str], flags: Mapping[str, Any]
) -> None:
    """Compose a configuration and call a function with it; for a sweep, with one after another.

    Args:
        call: The function.
        store: The name of the configuration in Hydra's store.
        argv: The words for Hydra, with the name of the program.
        flags: Values of Hydra's flags as they were typed; ``argv`` has ``flag_words``.

    Raises:
        ConfigError: The configuration cannot be composed, or the folder ``out`` cannot be made.
        SystemExit: The function raised an exception; its traceback has been printed.
    """

    def task(config: DictConfig) -> None:
        plain = _resolved(config)
        sys.argv = redact_words(argv, plain)  # services record it
        with remembered(secrets_in(plain, argv)):
            try:
                call(config)
            except Exception as error:  # noqa: BLE001 - a defect: Hydra would print the overrides
                trace = "".join(traceback.format_exception(error))
                click.echo(hide(trace), err=True)
                sys.exit(1)

    sys.argv = argv
    try:
        with _errors_are_raised(), _printed_without_secrets(flags):
            hydra.main(version_base="1.3", config_path=None, config_name=store)(task)()
    except GemError:
        raise
    except (HydraException, OmegaConfBaseException, ValueError, RecursionError) as error:
        raise ConfigError(_message(error)) from error
    except OSError as error:
        raise ConfigError(
            f"The folder of the run cannot be made: {message_of(error)}. Choose another with "
            f"out=FOLDER."
        ) from error
    finally:
        SweepFile.end()


def _resolved(config: DictConfig) -> Any:
    try:
        return OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException:  # it is reported when the command reads the configuration
        return _plain(config)


@contextlib.contextmanager
def _errors_are_raised() -> Iterator[None]:
    """Let Hydra raise errors, which it would print."""
    name = "HYDRA_FULL_ERROR"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def flag_words(flags: Mapping[str, Any]) -> Iterator[str]:
    """Yield flags for Hydra: with ``--cfg`` it prints the whole configuration."""
    for name, value in {**flags, "cfg": flags["cfg"] and "all"}.items():
        if value:
            yield f"--{name.replace('_', '-')}"
            yield from () if value is True else (value,)


@contextlib.contextmanager
def _printed_without_secrets(flags: Mapping[str, Any]) -> Iterator[None]:
    """Print the output of ``--cfg`` and ``--info`` without secrets."""
    if not flags["cfg"] and not flags["info"]:
        yield
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        yield
    text = printed.getvalue()
    start = 0 if flags["cfg"] else text.rfind(_CONFIG) + len(_CONFIG)
    if flags["cfg"] or _CONFIG in text:
        shown = _shown(_plain(text[start:]), flags["cfg"] or "all")
        text = text[:start] + OmegaConf.to_yaml(shown)
    click.echo(text, nl=False)


def _shown(config: Any, kind: str) -> dict[str, Any]:
    """Return the part of a configuration that ``--cfg`` asks for, without secrets."""
    masked = _without_secrets(config, config)
    for name in ("help", "hydra_help") if kind == "hydra" else ():  # Hydra leaves them out too
        del masked["hydra"][name]
    return {
        key: value
        for key, value in masked.items()
        if kind == "all" or (key == "hydra") == (kind == "hydra")
    }


def _message(error: Exception) -> str:
    """Return the message of Hydra, with that of its cause if it has one."""
    lines = [str(error).strip()]
    if isinstance(error.__cause__, OmegaConfBaseException):
        lines.append(str(error.__cause__).strip())
    return "\n".join(dict.fromkeys(lines))
