r"""Tells a model how to answer if the task does not.

Graders read answers in a fixed form, such as ``\boxed{}``, but the question of a dataset does not
mention it. Such an environment states the form in its attribute ``answer_instruction``, and the
wrapper of that name shows it after the first observation. Every command that plays episodes adds
the wrapper, so that a model is evaluated as it was trained; ``make`` does not.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gem_core.env import Env, Wrapper
from gem_core.errors import ConfigError
from gem_core.factory import EnvFactory
from gem_core.mixture import MixtureEnv
from gem_core.observation import Info, Observation, text_of, with_text
from gem_core.specs import WrapperSpec

__all__ = ["DEFAULT", "KEY", "AnswerInstruction", "instructed", "instruction_of"]

KEY = "answer_instruction"
"""The key of the commands, and the attribute of environments."""
DEFAULT = "default"
"""The value of the key that selects the environment's own instruction."""


class AnswerInstruction(Wrapper):
    """Adds an instruction on how to answer to the first observation of each episode.

    Args:
        env: The environment.
        text: The instruction; ``"default"`` selects the environment's own, if it has one.

    """

    def __init__(self, env: Env, *, text: str = DEFAULT) -> None:
        super().__init__(env)
        self.text = text

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        text = instruction_of(self.env) if self.text == DEFAULT else self.text
        if not text:
            return observation, info
        return with_text(observation, f"{text_of(observation).rstrip()}\n\n{text}"), info


def instruction_of(env: Any) -> str:
    """Return the instruction of an environment, or of a mixture's current one; often empty."""
    inner = env.unwrapped
    if isinstance(inner, MixtureEnv):
        return instruction_of(inner.env)
    return str(getattr(inner, KEY, ""))


def instructed(factory: EnvFactory, config: Mapping[str, Any]) -> EnvFactory:
    """Return a factory whose environments tell how to answer, if a configuration asks for it.

    Args:
        factory: The factory.
        config: The configuration of a command; ``answer_instruction`` is ``"default"``, a text, or
            None for none, which is also the default.

    Raises:
        ConfigError: The value is none of these.
    """
    text = config.get(KEY)
    if text is None or text == "":
        return factory
    if not isinstance(text, str):
        raise ConfigError(f"{KEY} is a text, 'default', or null for none; got {text!r}.")
    if text == DEFAULT and not _may_have_one(factory):
        return factory
    wrapper = WrapperSpec(id=KEY, entry_point=AnswerInstruction, kwargs={"text": text})
    return replace(factory, wrappers=(wrapper, *factory.wrappers))


def _may_have_one(factory: EnvFactory) -> bool:
    target = factory.spec.load()
    if not isinstance(target, type):  # a function: only what it makes will tell
        return True
    return hasattr(target, KEY) or issubclass(target, MixtureEnv)
