"""Shows an agent the whole episode so far, as text or as chat messages."""

from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol

from gem_core.env import Env, Layer, Step, Wrapper
from gem_core.errors import ConfigError
from gem_core.observation import Action, Info, Observation, text_of, with_text

__all__ = ["ChatTemplate", "HistoryWrapper", "Tokenizer"]

ChatTemplate = Literal["none", "every_turn", "on_reset"]


class Tokenizer(Protocol):
    """Whatever can render chat messages; a transformers tokenizer for example."""

    def apply_chat_template(
        self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool
    ) -> Any:
        """Return the conversation, a list of dicts with role and content, as text."""


class HistoryWrapper(Wrapper):
    """Replaces each observation by the history of the episode.

    As text, every entry ends with a newline. As chat, observations are messages of the role
    ``user`` (``tool`` where ``info["use_tool"]`` is true) and actions of the role ``assistant``.
    Where ``info["parsed_action"]`` exists, it stands for the action. ``info["prefix"]`` goes before
    the first observation, ``info["suffix"]`` after the last, in a chat inside their messages; both
    stay in ``info``.

    Of an observation that is a dict, the text becomes the history; the other values of the episode
    (images) stay beside it, the latest of each key.

    Args:
        env: The environment.
        include_action: Show actions too.
        chat_template: ``none`` for text; ``every_turn`` renders the whole history as a chat each
            turn; ``on_reset`` renders the first observation as a chat, and appends as text.
        max_history_length: Number of past turns that are kept; None for all. The oldest are
            dropped first, the instructions among them.
        tokenizer: Renders chats: an object with ``apply_chat_template``, or a name or folder that
            transformers can load.
        suffix_in_message: False puts prefix and suffix around the rendered chat instead, outside
            its messages, where gem-llm has them.

    Raises:
        ConfigError: A chat template without a tokenizer, or ``every_turn`` without actions.
    """

    layer = Layer.HISTORY
    shared: ClassVar[tuple[str, ...]] = ("tokenizer",)

    def __init__(
        self,
        env: Env,
        *,
        include_action: bool = False,
        chat_template: ChatTemplate = "none",
        max_history_length: int | None = None,
        tokenizer: Tokenizer | str | None = None,
        suffix_in_message: bool = True,
    ) -> None:
        super().__init__(env)
        if chat_template not in {"none", "every_turn", "on_reset"}:
            raise ConfigError(
                f"chat_template is 'none', 'every_turn' or 'on_reset'; got {chat_template!r}."
            )
        if chat_template != "none" and tokenizer is None:
            raise ConfigError(f"chat_template={chat_template!r} needs a tokenizer.")
        if chat_template == "every_turn" and not include_action:
            raise ConfigError("chat_template='every_turn' needs include_action=True.")
        if max_history_length is not None and max_history_length < 0:
            raise ConfigError(f"max_history_length is 0 or more; got {max_history_length}.")
        self.tokenizer = _load_tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer
        self.include_action = include_action
        self.chat_template = chat_template
        self.max_history_length = max_history_length
        self.suffix_in_message = suffix_in_message
        self._clear()

    def _clear(self) -> None:
        limit = self.max_history_length
        per_turn = 2 if self.include_action else 1
        self._entries: deque[tuple[str, str]] = deque(
            maxlen=None if limit is None else limit * per_turn + 1
        )
        self._text = ""
        self._beside: Mapping[str, Any] = {}
        self._is_first = True

    def _append(self, role: str, text: str) -> None:
        full = len(self._entries) == self._entries.maxlen
        self._entries.append((role, text))
        # Appending keeps the cost of a turn independent of the turns before it.
        self._text = (
            "".join(_line(t) for _, t in self._entries) if full else self._text + _line(text)
        )

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        self._clear()
        return self._show(observation, info), info

    def after_step(self, action: Action, step: Step) -> Step:
        if self.include_action:
            self._append("assistant", str(step.info.get("parsed_action", action)))
        self._is_first = False
        return step._replace(observation=self._show(step.observation, step.info))

    def _show(self, observation: Observation, info: Info) -> Observation:
        text = text_of(observation)
        role = "tool" if info.get("use_tool") else "user"
        prefix, suffix = info.get("prefix", ""), info.get("suffix", "")
        if self.chat_template == "on_reset" and self._is_first:
            shown = self._chat([(role, text)], prefix, suffix)
            self._append(role, self._chat([(role, text)], "", ""))
        else:
            self._append(role, text)
            if self.chat_template == "every_turn":
                shown = self._chat(list(self._entries), prefix, suffix)
            else:
                shown = f"{prefix}{self._text}{suffix}"
        if isinstance(observation, dict):
            self._beside = {**self._beside, **observation}
        return with_text(self._beside, shown) if self._beside else shown

    def _chat(self, entries: list[tuple[str, str]], prefix: str, suffix: str) -> str:
        """Render entries as chat messages, with prefix and suffix where they belong."""
        if self.suffix_in_message:
            role, text = entries[0]
            entries[0] = (role, prefix + text)
            role, text = entries[-1]
            entries[-1] = (role, _line(text) + suffix if suffix else text)
            prefix = suffix = ""
        messages = [{"role": role, "content": text} for role, text in entries]
        tokenizer: Any = self.tokenizer
        chat = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return f"{prefix}{chat}{suffix}"


def _line(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _load_tokenizer(name: str) -> Tokenizer:
    try:
        from transformers import AutoTokenizer  # noqa: PLC0415 - seconds, and only for this
    except ImportError as error:
        raise ConfigError(
            f"Loading the tokenizer {name!r} needs transformers: pip install transformers."
        ) from error
    return AutoTokenizer.from_pretrained(name)  # type: ignore[no-any-return]
