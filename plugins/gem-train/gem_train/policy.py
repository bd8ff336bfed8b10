"""The policy: a causal language model of transformers with its tokenizer.

The same weights sample and learn, so nothing is copied between a sampler and a learner.
"""

import copy
import inspect
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, Self

import torch

from gem_core.errors import ConfigError
from gem_rollout.models.pretrained import base_model
from gem_rollout.models.vision import Vision, tokenizer_of
from gem_train.batch import Batch
from gem_train.image_inputs import image_inputs
from gem_train.master_weights import MasterWeights
from gem_train.objective import entropy, token_logprobs
from gem_train.output_layer import OutputLayer
from gem_train.pretrained import load_pretrained
from gem_train.shared_prefixes import SharedPrefixes
from gem_train.token_scores import token_scores

__all__ = ["Policy"]


class Policy:
    """A language model that acts and learns.

    Args:
        model: A causal language model of transformers, optionally wrapped by peft.
        tokenizer: Its tokenizer, or its processor if it reads images.
        masters: The trained weights in float32 by name, if the model's are rounded from them.
        compile_options: Arguments of ``torch.compile`` for the learner's forward pass; None to not
            compile it.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        masters: dict[str, torch.Tensor] | None = None,
        *,
        compile_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer_of(tokenizer)
        self.processor = tokenizer
        """Its processor; the tokenizer if it reads text only."""
        self.vision = Vision.of(tokenizer, model)
        """How it reads images; None if it reads text only."""
        self._weights = MasterWeights(model, masters)
        base = base_model(model)
        self._keeps_logits = "logits_to_keep" in inspect.signature(base.forward).parameters
        self._output = OutputLayer.of(base)
        read = model if self._output is None else self._output.body
        last_only = {"logits_to_keep": 1} if self._output is None and self._keeps_logits else {}
        self._prefixes = SharedPrefixes(read, last_only)
        self._forward = read if compile_options is None else _compiled(read, compile_options)
        modules = list(model.modules())
        has_dropout = any(one.p > 0 for one in modules if isinstance(one, torch.nn.Dropout))
        is_checkpointed = any(getattr(one, "gradient_checkpointing", False) for one in modules)
        self._has_training_mode = has_dropout or is_checkpointed

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        device: str = "auto",
        precision: Literal["float32", "bf16"] = "float32",
        lora: Mapping[str, Any] | None = None,
        gradient_checkpointing: bool = False,
        attn_implementation: str | None = None,
        compile_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Load a model and its tokenizer.

        Args:
            path: Folder or name of the model, or a folder with adapters that ``save`` wrote.
            device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
            precision: ``bf16`` keeps the weights in bfloat16, for both sampling and learning; the
                optimiser changes a copy in float32 of those that are trained.
            lora: Parameters of peft's ``LoraConfig`` (``r``, ``lora_alpha``, ``target_modules``,
                ...) to train adapters only; None to train all weights.
            gradient_checkpointing: Recompute activations in the backward pass to save memory.
            attn_implementation: The attention of transformers, such as ``sdpa``, ``eager`` or
                ``flash_attention_2``; None for its default.
            compile_options: Arguments of ``torch.compile`` for the learner's forward pass; None to
                not compile it.

        Raises:
            ConfigError: The model cannot be loaded, or torch, transformers or peft are missing.
        """
        found = load_pretrained(
            path,
            device=device,
            precision=precision,
            lora=lora,
            gradient_checkpointing=gradient_checkpointing,
            attn_implementation=attn_implementation,
        )
        return cls(*found, compile_options=compile_options)

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        return next(self.model.parameters()).device

    @property
    def end_ids(self) -> list[int]:
        """The tokens that end a reply."""
        config = getattr(base_model(self.model), "generation_config", None)
        ends = getattr(config, "eos_token_id", None)
        several = ends if isinstance(ends, list) else [ends]
        return sorted({*several, self.tokenizer.eos_token_id} - {None})

    @property
    def has_adapters(self) -> bool:
        """Whether only adapters (LoRA) are trained."""
        return hasattr(self.model, "peft_config")

    def parameters(self) -> list[torch.nn.Parameter]:
        """Return the parameters that an optimiser changes, in float32.

        Call ``sync`` after each of its steps.
        """
        return list(self._weights.parameters.values())

    def sync(self) -> None:
        """Give the model the weights that an optimiser has changed."""
        self._weights.sync()

    def logprobs(self, batch: Batch, *, temperature: float = 1.0) -> torch.Tensor:
        """Return the log-probability of each sampled token given those before it; (S, L).

        It is in nats, and 0 where nothing was sampled.

        Args:
            batch: The rows.
            temperature: T of ``softmax(logits / T)``, above 0.
        """
        return self.logprobs_and_entropy(batch, temperature=temperature, with_entropy=False)[0]

    def logprobs_and_entropy(
        self, batch: Batch, *, temperature: float = 1.0, with_entropy: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ``logprobs``, and the entropy of each sampled token's distribution; (S, L).

        Logits are computed only at positions before a sampled token, and in chunks
        (``token_scores``): with a large vocabulary they would take most memory. The entropy has a
        gradient only ``with_entropy``.
        """
        suffixes = self._prefixes.split(batch)
        if suffixes is None:
            inputs = {
                "input_ids": batch.ids,
                "attention_mask": batch.attention.long(),
                "use_cache": False,
                **image_inputs(self.vision, batch, self.model.dtype),
            }
            return self._read(batch.ids, batch.turn_of >= 0, inputs, temperature, with_entropy)
        logprobs, entropies = self._read(
            suffixes.ids, suffixes.sampled, suffixes.inputs, temperature, with_entropy
        )
        width = batch.ids.shape[1]
        return suffixes.to_rows(logprobs, width), suffixes.to_rows(entropies, width)

    def _read(
        self,
        ids: torch.Tensor,
        sampled: torch.Tensor,
        inputs: Mapping[str, Any],
        temperature: float,
        with_entropy: bool,  # noqa: FBT001 - passed on
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log-probabilities and entropies in the shape of ``ids``, 0 if not sampled."""
        if self._output is not None:
            return self._scored(self._output, ids, sampled, inputs, temperature, with_entropy)
        (columns,) = torch.where(sampled[:, 1:].any(0))
        options = {"logits_to_keep": columns} if self._keeps_logits else {}
        logits = self._forward(**inputs, **options).logits
        if not self._keeps_logits:
            logits = logits[:, columns]
        logits = logits.float() if logits.dtype in _SHORT else logits
        logits = logits if self.vision is None else self.vision.masked(logits)
        if temperature != 1:
            logits = logits / temperature
        following = torch.cat([ids[:, :1], ids[:, columns + 1]], dim=1)
        # token_logprobs skips the last position's logits, so one more column is appended.
        of_columns = token_logprobs(torch.cat([logits, logits[:, :1]], dim=1), following)[:, 1:]

        def at_tokens(values: torch.Tensor) -> torch.Tensor:
            whole = values.new_zeros(ids.shape)
            return torch.where(sampled, whole.index_copy(1, columns + 1, values), 0)

        with torch.set_grad_enabled(with_entropy and torch.is_grad_enabled()):
            entropies = entropy(logits)
        return at_tokens(of_columns), at_tokens(entropies)

    def _scored(
        self,
        output: OutputLayer,
        ids: torch.Tensor,
        sampled: torch.Tensor,
        inputs: Mapping[str, Any],
        temperature: float,
        with_entropy: bool,  # noqa: FBT001 - passed on
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows, before = torch.where(sampled[:, 1:])
        hidden = self._forward(**inputs)[0][rows, before]
        scores = token_scores(
            hidden,
            output.layer.weight,
            ids[rows, before + 1],
            bias=output.bias(self.vision),
            temperature=temperature,
        )

        def at_tokens(values: torch.Tensor) -> torch.Tensor:
            return values.new_zeros(ids.shape).index_put((rows, before + 1), values)

        entropies = scores.entropies if with_entropy else scores.entropies.detach()
        return at_tokens(scores.logprobs), at_tokens(entropies)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its tokenizer in the format of transformers.

        For a model with adapters, only the adapters are written; see ``save_merged``.
        """
        self.model.save_pretrained(folder)
        self.processor.save_pretrained(folder)

    def save_merged(self, folder: str | os.PathLike[str]) -> None:
        """Write a standalone model, with adapters merged into its weights."""
        if not self.has_adapters:
            self.save(folder)
            return
        merged = copy.deepcopy(self.model).merge_and_unload()
        merged.save_pretrained(folder)
        self.processor.save_pretrained(folder)

    def weights_copy(self) -> dict[str, torch.Tensor]:
        """Return a copy of the weights of ``save``, in the CPU's memory; tied weights stay tied."""
        trained = self.trained_state()
        state = self.model.state_dict()
        if self.has_adapters:
            state = {name: one for name, one in state.items() if name in trained}
        copies: dict[int, torch.Tensor] = {}
        for name, one in state.items():
            if one.data_ptr() not in copies:
                source = trained.get(name, one).detach()
                copies[one.data_ptr()] = source.to("cpu", copy=True)
        return {name: copies[one.data_ptr()] for name, one in state.items()}

    def save_weights(
        self, folder: str | os.PathLike[str], weights: Mapping[str, torch.Tensor]
    ) -> None:
        """Write a model with these weights and its tokenizer in the format of transformers.

        Args:
            folder: The folder.
            weights: The result of ``weights_copy``.
        """
        self.model.save_pretrained(folder, state_dict=dict(weights))
        self.processor.save_pretrained(folder)

    def load_weights(self, folder: str | os.PathLike[str]) -> None:
        """Load the weights that ``save`` or ``save_weights`` wrote.

        Raises:
            ConfigError: They cannot be read, or are those of another model.
        """
        try:
            state = self._read_weights(folder)
        except Exception as error:  # a truncated file raises many kinds of errors
            raise ConfigError(f"The weights in {folder} cannot be read: {error}") from error
        self.load_trained_state(state)

    def _read_weights(self, folder: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
        if self.has_adapters:
            import peft  # noqa: PLC0415 - optional

            saved = peft.utils.load_peft_weights(str(folder), device="cpu")
            name = self.model.active_adapter
            names = {_without_adapter(one, name): one for one in self.trained_state()}
            return {names[one]: tensor for one, tensor in saved.items()}
        found = type(self.model).from_pretrained(folder, dtype=torch.float32)
        return dict(found.named_parameters())

    def trained_state(self) -> dict[str, torch.Tensor]:
        """Return the trained weights by name, in float32, without copying them."""
        return {name: one.detach() for name, one in self._weights.parameters.items()}

    def load_trained_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Load weights that ``trained_state`` returned.

        Raises:
            ConfigError: Their names or shapes are not those of this model.
        """
        here = self.trained_state()
        if here.keys() != state.keys() or any(here[n].shape != state[n].shape for n in here):
            raise ConfigError("The checkpoint holds the weights of another model than this one.")
        for name, one in here.items():
            one.copy_(state[name])  # detached, so autograd does not record it
        self.sync()

    @contextmanager
    def training(self) -> Iterator[None]:
        """Put the model in training mode inside if it has dropout or gradient checkpointing."""
        if not self._has_training_mode:
            yield
            return
        self.model.train()
        try:
            yield
        finally:
            self.model.eval()


_SHORT = (torch.float16, torch.bfloat16)


def _without_adapter(parameter: str, adapter: str) -> str:
    """Return the name of an adapter's parameter in its file, which lacks the adapter's name."""
    return ".".join(part for part in parameter.split(".") if part != adapter)


def _compiled(module: Any, options: Mapping[str, Any]) -> Any:
    try:
        return torch.compile(module, **{"dynamic": True, **options})
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"compile: {error}") from error
