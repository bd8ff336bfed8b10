"""Runs Hydra for a command. An error is one message, and nothing that is written has a secret.

Hydra itself would print a traceback and the overrides as they were typed, store them in
``multirun.yaml``, and print them for ``--cfg``.
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
from gem_rollout.redaction import HIDDEN, hide, redact, redact_words, remembered, secrets_in
from gem_rollout.store import private

__all__ = ["WITHOUT_SECRETS", "SweepFile", "compose"]

WITHOUT_SECRETS = (
    "++hydra.callbacks.gem={_target_: gem_rollout.composition.SweepFile}",
    "hydra.output_subdir=null",
)
"""Overrides by which Hydra writes no secrets, also for a configuration of the user's own."""


class SweepFile(Callback):
    """Takes the secrets out of the file ``multirun.yaml`` that Hydra writes for a sweep."""

    _path: ClassVar[Path | None] = None

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Note where the file will be."""
        SweepFile._path = Path(config.hydra.sweep.dir) / "multirun.yaml"

    def on_job_start(self, config: DictConfig, **_: Any) -> None:
        """Write the file again before the first job."""
        self.write_again()

    @classmethod
    def write_again(cls) -> None:
        """Write the file without secrets, if Hydra has written it."""
        path, cls._path = cls._path, None
        if path is None or not path.is_file():
            return
        content = _yaml(_without_secrets(_plain(path.read_text("utf-8"))))
        path.unlink()
        with open(path, "w", encoding="utf-8", opener=private) as file:
            file.write(content)


def _plain(text: str) -> Any:
    return OmegaConf.to_container(OmegaConf.create(text))


def _yaml(value: Any) -> str:
    return hide(OmegaConf.to_yaml(OmegaConf.create(value)))


def _without_secrets(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without secrets, also in what Hydra records of the command line."""
    shown: dict[str, Any] = redact(config)
    own = shown.get("hydra") or {}
    if "overrides" in own and "task" in own["overrides"]:
        own["overrides"]["task"] = redact_words(config["hydra"]["overrides"]["task"])
    if "job" in own and "override_dirname" in own["job"]:
        own["job"]["override_dirname"] = HIDDEN
    return shown


def compose(
    call: Callable[[DictConfig], None], store: str, argv: list[str], flags: Mapping[str, Any]
) -> None:
    """Compose a configuration and call a function with it; for a sweep, with one after another.

    Args:
        call: The function.
        store: The name of the configuration in Hydra's store.
        argv: The words for Hydra, with the name of the program.
        flags: Values of Hydra's flags ``cfg``, ``info`` and ``package``.

    Raises:
        ConfigError: The configuration cannot be composed, or the folder ``out`` cannot be made.
        SystemExit: The function raised an exception; its traceback has been printed.
    """

    def task(config: DictConfig) -> None:
        sys.argv = redact_words(argv)  # services record it
        try:
            with remembered(secrets_in(_resolved(config))):
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
        SweepFile.write_again()


def _resolved(config: DictConfig) -> Any:
    try:
        return OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException:  # it is reported when the command reads the configuration
        return OmegaConf.to_container(config)


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


@contextlib.contextmanager
def _printed_without_secrets(flags: Mapping[str, Any]) -> Iterator[None]:
    """Print what ``--cfg`` and ``--info`` print without secrets."""
    if not flags["cfg"] and not flags["info"]:
        yield
        return
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield
    finally:
        text = printed.getvalue()
        click.echo(_shown(text, flags["package"]) if flags["cfg"] else hide(text), nl=False)


def _shown(text: str, package: str | None) -> str:
    """Return a configuration in YAML, or one value of it, without secrets."""
    *parents, name = (package or "").split(".")
    is_mapping = isinstance(plain := _plain(text) if ":" in text else text.strip(), dict)
    value: Any = plain if is_mapping else text.strip()
    for part in filter(None, [name, *reversed(parents)]):
        value = {part: value}
    shown = _without_secrets(value) if isinstance(value, dict) else value
    if shown == value:
        return hide(text)
    for part in filter(None, [*parents, name]):
        shown = shown[part]
    heading = f"# @package {package}\n" if package else ""
    return heading + _yaml(shown) if is_mapping else hide(f"{shown}\n")


def _message(error: Exception) -> str:
    """Return what Hydra says, with the cause if it has one."""
    lines = [str(error).strip()]
    if isinstance(error.__cause__, OmegaConfBaseException):
        lines.append(str(error.__cause__).strip())
    return "\n".join(dict.fromkeys(lines))
