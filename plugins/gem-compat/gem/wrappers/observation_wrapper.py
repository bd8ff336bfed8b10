"""Shows the whole episode in each observation, with gem-core's history wrapper."""

from typing import Any, TypeVar

from gem.core import EnvWrapper
from gem_core.errors import ConfigError
from gem_core.wrappers.history import ChatTemplate, HistoryWrapper

__all__ = ["ObservationWrapper", "WrapperObsType", "maybe_add_new_line"]

WrapperObsType = TypeVar("WrapperObsType")


def maybe_add_new_line(text: str) -> str:
    """Return a text with a newline at its end, unless it is empty or has one."""
    return text if not text or text.endswith("\n") else f"{text}\n"


class ObservationWrapper(HistoryWrapper, EnvWrapper):
    """Replaces each observation by the history of the episode; see ``HistoryWrapper``.

    Args:
        env: The environment.
        include_action: Show actions too.
        include_chat_template: Show the history as a chat, each turn.
        apply_chat_template_on_reset: Show the first observation as a chat, and append as text.
        max_history_length: Number of past turns that are kept; None for all.
        tokenizer: Renders chats.
        suffix_in_message: False puts ``info``'s prefix and suffix around the rendered chat, as in
            gem-llm, instead of inside its messages.

    Raises:
        ConfigError: Flags that exclude one another, or a chat without a tokenizer.
    """

    layer = None  # type: ignore[assignment]  # gem-llm takes any order
    only_one_of = ""

    def __init__(
        self,
        env: Any,
        include_action: bool = True,
        include_chat_template: bool = True,
        apply_chat_template_on_reset: bool = False,
        max_history_length: int | None = None,
        tokenizer: Any = None,
        *,
        suffix_in_message: bool = True,
    ) -> None:
        if include_chat_template and apply_chat_template_on_reset:
            raise ConfigError(
                "include_chat_template and apply_chat_template_on_reset exclude one another."
            )
        template: ChatTemplate = "every_turn" if include_chat_template else "none"
        if apply_chat_template_on_reset:
            template = "on_reset"
        super().__init__(
            env,
            include_action=include_action,
            chat_template=template,
            max_history_length=max_history_length,
            tokenizer=tokenizer,
            suffix_in_message=suffix_in_message,
        )

    def _show(self, observation: Any, info: dict[str, Any]) -> Any:
        self._shown = super()._show(observation, info)
        return self.observation(info)

    def _prefix_of(self, info: dict[str, Any]) -> str:
        return str(info.get("prefix", ""))  # gem-llm shows no earlier one

    def observation(self, info: dict[str, Any]) -> Any:
        """Return the observation of the current turn; subclasses may change it.

        Args:
            info: The environment's info of this turn.
        """
        return self._shown
