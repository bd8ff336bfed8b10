"""Images for vision-language models of transformers.

A processor turns the mark of an image in a text into as many tokens as the model has features of
the image, and the image into tensors such as ``pixel_values``. Sampler and learner use the same
functions, so a token has the same log-probability in both.

The model never samples the tokens that stand for images: a sampled one would have no features. All
log-probabilities are those of the distribution over the other tokens.
"""

import importlib.util
import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gem_core.content import Image
from gem_core.errors import ConfigError
from gem_rollout.models.adapters import find_base, with_adapters
from gem_rollout.models.pretrained import base_model
from gem_rollout.tokens.transcript import encode_continuation

__all__ = ["NEVER", "Vision", "load_with_processor", "tokenizer_of"]

NEVER = -1e4
"""The logit of tokens that are never sampled; finite, so that an entropy is defined."""
_MARK = "[image]"
_READERS = ("tokenizer_config.json", "processor_config.json")
"""The files of a folder with a tokenizer, and of one with a processor."""
_MODALITIES = ("image", "video", "vision", "audio")


def tokenizer_of(processor: Any) -> Any:
    """Return the tokenizer of a processor; a tokenizer itself is returned unchanged."""
    return getattr(processor, "tokenizer", processor)


def load_with_processor(
    name: str | os.PathLike[str], options: Mapping[str, Any], **model_options: Any
) -> tuple[Any, Any]:
    """Load a model, with its processor if it takes images and else with its tokenizer.

    Args:
        name: Name or folder of the model, or a folder with adapters, which are merged into their
            base model; its tokenizer or processor is used if it has one.
        options: Arguments of each ``from_pretrained``.
        model_options: Further arguments for the model.

    Raises:
        ConfigError: Its processor needs torchvision, or its adapters need peft, which is not
            installed; or the base model of the adapters cannot be found.
        OSError: It cannot be loaded; or ValueError, RuntimeError, AttributeError, ImportError.
    """
    if (base := find_base(name)) is not None:
        model, processor = load_with_processor(base[0], {**options, **base[1]}, **model_options)
        if Path(name, _READERS[hasattr(processor, "image_processor")]).is_file():
            processor = type(processor).from_pretrained(name)
        return with_adapters(model, name), processor
    import transformers  # noqa: PLC0415 - optional, and takes seconds

    only_files = {key: value for key, value in options.items() if key == "local_files_only"}
    config = transformers.AutoConfig.from_pretrained(name, **only_files)
    takes_images = getattr(config, "vision_config", None) is not None
    kind, reader = transformers.AutoModelForCausalLM, transformers.AutoTokenizer
    if takes_images:
        kind, reader = transformers.AutoModelForImageTextToText, transformers.AutoProcessor
    try:
        processor = reader.from_pretrained(name, **only_files)
    except (ImportError, AttributeError) as error:
        if not takes_images or importlib.util.find_spec("torchvision") is not None:
            raise
        raise ConfigError(
            f"The processor of {str(name)!r} cannot be loaded without torchvision: pip install "
            f"torchvision, in the version that suits torch."
        ) from error
    return kind.from_pretrained(name, **options, **model_options), processor


class Vision:
    """The images of a vision-language model: their tokens and tensors.

    Args:
        processor: Its processor.
        model: The model of transformers, without peft's wrapper.
    """

    def __init__(self, processor: Any, model: Any) -> None:
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self.image_id = _image_id(processor, model.config)
        self.never_sampled = sorted(_special_ids(model.config) | {self.image_id})
        """The tokens that stand for images and other media."""
        self._mark = str(getattr(processor, "boi_token", None) or processor.image_token)
        self._marks = {self._mark, str(processor.image_token)}
        self._name = type(model).__name__
        self._arguments = inspect.signature(model.forward).parameters
        self._counts: dict[Image, int] = {}

    @classmethod
    def of(cls, processor: Any, model: Any) -> "Vision | None":
        """Return the object of a model; None if it is given a tokenizer, and so reads text only."""
        if getattr(processor, "image_processor", None) is None:
            return None
        return cls(processor, base_model(model))

    @property
    def has_template(self) -> bool:
        """Whether there is a chat template."""
        return bool(getattr(self.processor, "chat_template", None))

    def render(
        self, messages: Iterable[Mapping[str, Any]], *, tools: Any, template: Mapping[str, Any]
    ) -> str:
        """Return a chat as text, with a mark for each image.

        Args:
            messages: Chat messages in OpenAI's format.
            tools: Schemas of tools, or None.
            template: More variables for the chat template.
        """
        chat = [self._for_template(message) for message in messages]
        text: str = self.processor.apply_chat_template(
            chat, tools=tools, tokenize=False, add_generation_prompt=True, **template
        )
        return text

    def _for_template(self, message: Mapping[str, Any]) -> dict[str, Any]:
        content = message.get("content") or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        shown = [
            {"type": "text", "text": self._without_marks(part["text"])}
            if part["type"] == "text"
            else {"type": "image"}
            for part in parts
        ]
        return {**message, "content": shown}

    def _without_marks(self, text: str) -> str:
        """Return a text in which the marks of images are replaced, so that it shows no image."""
        for mark in self._marks:
            text = text.replace(mark, _MARK)
        return text

    def encode(self, text: str, images: Sequence[Image], *, continues: bool = False) -> list[int]:
        """Return the tokens of a text, in which the mark of each image becomes its tokens.

        Args:
            text: The text, with one mark for each image.
            images: The images, in order.
            continues: Whether the text follows other text; see ``encode_continuation``.

        Raises:
            ConfigError: The marks of the text are not as many as the images, or the attention of
                the model is not causal.
            ContentError: An image is damaged.
        """
        if images and "token_type_ids" in self._arguments:
            raise ConfigError(
                f"The tokens of an image attend to later ones in a {self._name}, which neither the "
                f"sampler nor the learner does. Choose a model with causal attention, such as "
                f"Qwen2.5-VL, LLaVA or Idefics3."
            )
        if continues and not images:
            return encode_continuation(self.tokenizer, text)
        end = self.tokenizer.eos_token if continues else None
        given = {"images": [_opened(images)]} if images else {}
        try:
            found = self.processor(text=[f"{end or ''}{text}"], add_special_tokens=False, **given)
        except (ValueError, IndexError, StopIteration) as error:
            raise ConfigError(
                f"The prompt shows {text.count(self._mark)} images where the observation has "
                f"{len(images)}: the chat template does not suit the processor ({error})."
            ) from error
        ids = [int(one) for one in found["input_ids"][0]]
        return ids[1:] if end and ids[0] == self.tokenizer.eos_token_id else ids

    def tokens_of(self, image: Image) -> int:
        """Return the number of tokens that stand for the features of an image."""
        if image not in self._counts:
            self._counts[image] = self.encode(self._mark, [image]).count(self.image_id)
        return self._counts[image]

    def inputs(
        self, ids: Any, images: Sequence[Image], *, dtype: Any, with_types: bool = True
    ) -> dict[str, Any]:
        """Return the arguments of the model's forward pass for the images of some rows.

        Args:
            ids: Token ids, (rows, length).
            images: The images of all rows, in the order of their tokens.
            dtype: Type of the pixels.
            with_types: Whether to tell the model which tokens stand for images, if it asks for
                this to compute positions.
        """
        if not images:
            return {}
        found = self.processor.image_processor(images=[_opened(images)], return_tensors="pt")
        tensors = {name: one for name, one in found.items() if name in self._arguments}
        for name, one in tensors.items():
            tensors[name] = one.to(ids.device, dtype if one.is_floating_point() else None)
        if with_types and "mm_token_type_ids" in self._arguments:
            tensors["mm_token_type_ids"] = (ids == self.image_id).long()
        return tensors

    def masked(self, logits: Any) -> Any:
        """Return logits, (..., vocabulary), without the tokens that are never sampled."""
        import torch  # noqa: PLC0415 - optional, and takes seconds

        known = [one for one in self.never_sampled if one < logits.shape[-1]]
        index = torch.tensor(known, device=logits.device)
        return logits.index_fill(-1, index, NEVER)


def _opened(images: Iterable[Image]) -> list[Any]:
    return [image.open().convert("RGB") for image in images]


def _image_id(processor: Any, config: Any) -> int:
    for source, name in (
        (config, "image_token_id"),
        (config, "image_token_index"),
        (processor, "image_token_id"),
    ):
        found = getattr(source, name, None)
        if isinstance(found, int):
            return found
    raise ConfigError(
        f"A {type(processor).__name__} for a {type(config).__name__} does not say which token "
        f"stands for an image (image_token_id): this model cannot be given images."
    )


def _special_ids(config: Any) -> set[int]:
    """Return the tokens of images, videos and sounds that a configuration names."""
    return {
        value
        for name, value in config.to_dict().items()
        if isinstance(value, int)
        and name.endswith(("_token_id", "_token_index"))
        and any(kind in name for kind in _MODALITIES)
    }
