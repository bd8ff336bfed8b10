"""A wrapper that shows the agent the whole episode so far, as text or as chat messages."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from gem_core.content import PLACEHOLDER, images_of, place_images
from gem_core.env import Env, Layer, Step, Wrapper
from gem_core.errors import ConfigError, NotInstalledError
from gem_core.observation import Action, Info, Observation, text_of, with_text

__all__ = ["ChatTemplate", "HistoryWrapper", "Tokenizer", "check_shows_tools", "load_tokenizer"]

ChatTemplate = Literal["none", "every_turn", "on_reset"]


class Tokenizer(Protocol):
    """An object that renders chat messages, such as a transformers tokenizer."""

    def apply_chat_template(
        self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool
    ) -> Any:
        """Return the conversation, a list of dicts with role and content, as text.

        It receives ``tools`` too, a list of schemas, if the environment has tools.
        """


class _Entry(NamedTuple):
    role: str
    text: str
    images: tuple[Any, ...] = ()
    messages: tuple[Mapping[str, Any], ...] = ()
    """The messages that represent it in a chat; empty for one with its role and text."""
    more: Mapping[str, Any] | None = None
    """Keys of its message other than role and content."""


class HistoryWrapper(Wrapper):
    """Replaces each observation by the history of the episode.

    As text, every entry ends with a newline. As chat, observations are messages with the role
    ``user`` (``tool`` if ``info["use_tool"]`` is true) and actions with the role ``assistant``.
    ``info["parsed_action"]``, if it exists, replaces the action. ``info["tool_messages"]`` replace
    action and observation in a chat: the action's message, then those of the results.
    ``info["tool_schemas"]`` of ``reset`` are passed to the template as ``tools``.

    ``info["prefix"]`` goes before the first observation and ``info["suffix"]`` after the last, in a
    chat inside their messages; both stay in ``info``. A step without a prefix keeps that of
    ``reset``.

    If an observation is a dict, its text becomes the history, and ``images`` becomes the list of
    the images of all shown turns, in order; from the first image on, each has its ``<image>`` in
    the text. The other values of the dict are kept, the latest of each key.

    Args:
        env: The environment.
        include_action: Whether to show the actions too.
        chat_template: ``none`` for text; ``every_turn`` renders the whole history as a chat each
            turn; ``on_reset`` renders the first observation as a chat, and appends as text.
        max_history_length: Number of past turns that are kept; None for all. The oldest are
            dropped first, including the instructions.
        tokenizer: Renders chats: an object with ``apply_chat_template``, or a name or folder that
            transformers can load. A processor (an object with an ``image_processor``) receives
            messages in parts and writes its own mark for each image.
        suffix_in_message: If False, prefix and suffix go around the rendered chat, outside of its
            messages, as in gem-llm.

    Raises:
        ConfigError: A chat template without a tokenizer, ``every_turn`` without actions, or, in
            ``reset``, a template that ignores the tools.
    """

    layer = Layer.HISTORY
    only_one_of = "history wrappers (concat, concat_with_action, concat_chat, ...)"
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
        self.tokenizer = load_tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer
        self.include_action = include_action
        self.chat_template = chat_template
        self.max_history_length = max_history_length
        self.suffix_in_message = suffix_in_message
        self._shows_tools = False
        """Whether the template is known to render tools."""
        self._clear()

    def _clear(self) -> None:
        limit = self.max_history_length
        per_turn = 2 if self.include_action else 1
        self._entries: deque[_Entry] = deque(maxlen=None if limit is None else limit * per_turn + 1)
        self._text = ""
        self._beside: Mapping[str, Any] = {}
        self._images: list[Any] = []
        self._has_images = False
        self._is_first = True
        self._tools: Any = None
        self._prefix = ""

    def _append(self, entry: _Entry) -> None:
        if len(self._entries) == self._entries.maxlen:
            gone = self._entries[0]
            self._text = self._text[len(_line(gone.text)) :]
            del self._images[: len(gone.images)]
        self._entries.append(entry)
        self._images += entry.images
        # A string to which only a local name refers grows in place, without a copy of the history.
        text, self._text = self._text, ""
        text += _line(entry.text)
        self._text = text

    def _entry(
        self, role: str, text: str, images: tuple[Any, ...] = (), messages: Sequence[Any] = ()
    ) -> _Entry:
        """Return an entry whose text has a placeholder for each image, if there are images."""
        if images and not self._has_images:
            self._has_images = True
            for index, earlier in enumerate(self._entries):
                self._entries[index] = earlier._replace(text=place_images(earlier.text, 0))
            self._text = "".join(_line(entry.text) for entry in self._entries)
        placed = place_images(text, len(images)) if self._has_images else text
        return _Entry(role, placed, images, tuple(messages))

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        self._clear()
        self._tools = info.get("tool_schemas")
        self._prefix = info.get("prefix", "")
        return self._show(observation, info), info

    def after_step(self, action: Action, step: Step) -> Step:
        if self.include_action:
            said = str(step.info.get("parsed_action", action))
            messages = step.info.get("tool_messages", ())
            self._append(self._entry("assistant", said, messages=messages[:1]))
        self._is_first = False
        return step._replace(observation=self._show(step.observation, step.info))

    def _show(self, observation: Observation, info: Info) -> Observation:
        role = "tool" if info.get("use_tool") else "user"
        images, messages = tuple(images_of(observation)), info.get("tool_messages", ())[1:]
        entry = self._entry(role, text_of(observation), images, messages)
        prefix, suffix = self._prefix_of(info), info.get("suffix", "")
        if self.chat_template == "on_reset" and self._is_first:
            shown = self._chat([entry], prefix, suffix)
            self._append(entry._replace(text=self._chat([entry], "", "")))
        else:
            self._append(entry)
            if self.chat_template == "every_turn":
                shown = self._chat(list(self._entries), prefix, suffix)
            else:
                shown = f"{prefix}{self._text}{suffix}"
        if isinstance(observation, dict):
            self._beside = {**self._beside, **observation}
        return self._with_images(with_text(self._beside, shown)) if self._beside else shown

    def _prefix_of(self, info: Info) -> str:
        return str(info.get("prefix", self._prefix))

    def _with_images(self, observation: dict[str, Any]) -> dict[str, Any]:
        if not self._has_images:
            return observation
        return {**observation, "images": list(self._images)}

    def _chat(self, entries: list[_Entry], prefix: str, suffix: str) -> str:
        """Render entries as chat messages, with prefix and suffix in their places."""
        entries = [message for entry in entries for message in self._unfolded(entry)]
        if self.suffix_in_message:
            entries[0] = entries[0]._replace(text=prefix + entries[0].text)
            last = entries[-1]
            entries[-1] = last._replace(text=_line(last.text) + suffix if suffix else last.text)
            prefix = suffix = ""
        tokenizer: Any = self.tokenizer
        in_parts = hasattr(tokenizer, "image_processor")
        messages = [
            {"role": entry.role, "content": _parts(entry) if in_parts else entry.text}
            | dict(entry.more or {})
            for entry in entries
        ]

        def render(**tools: Any) -> str:
            chat: str = tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, **tools
            )
            return chat

        chat = render() if self._tools is None else render(tools=self._tools)
        if self._tools and not self._shows_tools:
            check_shows_tools(chat, render)
            self._shows_tools = True
        return f"{prefix}{chat}{suffix}"

    def _unfolded(self, entry: _Entry) -> list[_Entry]:
        """Return an entry for each message that represents the entry."""
        return [
            _Entry(
                message["role"],
                place_images(message["content"], 0) if self._has_images else message["content"],
                more={key: message[key] for key in message if key not in ("role", "content")},
            )
            for message in entry.messages
        ] or [entry]


def check_shows_tools(chat: str, render: Callable[[], str]) -> None:
    """Check that a chat template has rendered tools.

    Args:
        chat: A chat that was rendered with tools.
        render: Renders the same chat without tools. It may raise, as a template does that cannot
            do without them.

    Raises:
        ConfigError: The texts are the same, so that a model would not know of the tools.
    """
    try:
        without = render()
    except Exception:  # noqa: BLE001 - templates may raise any exception
        return
    if chat == without:
        raise ConfigError(
            "The chat template ignores tools: with and without them it renders the same prompt, so "
            "the model would not know of them. Describe them in the text instead, with "
            "instructions=text (tool_use.instructions=text for tools=), or use another template."
        )


def _parts(entry: _Entry) -> list[dict[str, str]]:
    """Return the content of a message in the form that a processor's chat template expects."""
    head, *rest = entry.text.split(PLACEHOLDER) if entry.images else [entry.text]
    parts = [{"type": "text", "text": head}]
    for piece in rest:
        parts += [{"type": "image"}, {"type": "text", "text": piece}]
    return [part for part in parts if part["type"] == "image" or part["text"]]


def _line(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def load_tokenizer(name: str) -> Any:
    """Return a tokenizer of transformers.

    Args:
        name: A folder, or a name on the hub.

    Raises:
        ConfigError: The tokenizer cannot be loaded.
        NotInstalledError: transformers is not installed.
    """
    try:
        from transformers import AutoTokenizer  # noqa: PLC0415 - seconds, and only for this
    except ImportError as error:
        raise NotInstalledError(
            f"Loading the tokenizer {name!r} needs transformers. Run: pip install transformers"
        ) from error
    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise ConfigError(f"The tokenizer {name!r} cannot be loaded: {first}") from error
