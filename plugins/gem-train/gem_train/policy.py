"""The policy: a causal language model of transformers with its tokenizer, and an optional critic.

The same weights sample and learn, so nothing is copied between a sampler and a learner.
"""

import copy
import functools
import importlib.util
import inspect
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, Self

import torch

from gem_core.errors import ConfigError
from gem_rollout.models.pretrained import pretrained_options
from gem_rollout.models.torch_threads import TorchThreads
from gem_train.batch import Batch, unique_rows
from gem_train.losses import entropy, token_logprobs
from gem_train.shared_prefixes import SharedPrefixes

__all__ = ["Critic", "Policy", "Reference", "pick_device"]


def pick_device(name: str) -> torch.device:
    """Return a device by name; ``auto`` is CUDA where there is one, else the CPU.

    Raises:
        ConfigError: There is no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(f"The device {name!r} cannot be used: {error}") from error
    return device


class Policy:
    """A language model that acts and learns.

    Args:
        model: A causal language model of transformers, optionally wrapped by peft.
        tokenizer: Its tokenizer.
        precision: The precision of its forward pass, which ``load`` has set up.
    """

    def __init__(
        self, model: Any, tokenizer: Any, precision: Literal["float32", "bf16"] = "float32"
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.precision = precision
        self._keeps_logits = "logits_to_keep" in inspect.signature(_base(model).forward).parameters
        self._prefixes = SharedPrefixes(model, {"logits_to_keep": 1} if self._keeps_logits else {})
        self._threads = TorchThreads(model)
        modules = list(model.modules())
        self._has_dropout = any(one.p > 0 for one in modules if isinstance(one, torch.nn.Dropout))
        is_checkpointed = any(getattr(one, "gradient_checkpointing", False) for one in modules)
        self._has_training_mode = self._has_dropout or is_checkpointed

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        device: str = "auto",
        precision: Literal["float32", "bf16"] = "float32",
        lora: Mapping[str, Any] | None = None,
        gradient_checkpointing: bool = False,
    ) -> Self:
        """Load a model and its tokenizer.

        Args:
            path: Folder or name of the model, or a folder with adapters that ``save`` wrote.
            device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
            precision: ``bf16`` computes in bfloat16 (autocast) for both sampling and learning;
                weights and optimiser state stay in float32. With ``lora``, the frozen weights are
                in bfloat16.
            lora: Parameters of peft's ``LoraConfig`` (``r``, ``lora_alpha``, ``target_modules``,
                ...) to train adapters only; None to train all weights.
            gradient_checkpointing: Recompute activations in the backward pass to save memory.

        Raises:
            ConfigError: The model cannot be loaded, or torch, transformers or peft are missing.
        """
        for needed in ("transformers", *(["peft"] if lora is not None else [])):
            if importlib.util.find_spec(needed) is None:
                extra = "lora" if needed == "peft" else "torch"
                raise ConfigError(f"Training needs {needed}: pip install gem-train[{extra}].")
        import transformers  # noqa: PLC0415 - optional, and takes seconds

        chosen = pick_device(device)
        frozen = torch.bfloat16 if precision == "bf16" and lora is not None else torch.float32
        found = pretrained_options(path)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, **found)
            model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=frozen, **found)
            model.to(chosen)
        except (OSError, ValueError, RuntimeError, AttributeError) as error:
            raise ConfigError(f"The model {str(path)!r} cannot be loaded: {error}") from error
        _disable_dropout(model)
        if precision == "bf16":
            _compute_in_bf16(model)
        if lora is not None:
            model = _with_adapters(model, lora)
        if gradient_checkpointing:
            _base(model).enable_input_require_grads()
            # Its name in transformers 5, else the older one.
            name = "activation_checkpointing_enable"
            name = name if hasattr(_base(model), name) else "gradient_checkpointing_enable"
            getattr(_base(model), name)({"use_reentrant": False})
        return cls(model.eval(), tokenizer, precision)

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        return next(self.model.parameters()).device

    @property
    def has_adapters(self) -> bool:
        """Whether only adapters (LoRA) are trained."""
        return hasattr(self.model, "peft_config")

    def parameters(self) -> list[torch.nn.Parameter]:
        """Return the parameters that are trained."""
        return [one for one in self.model.parameters() if one.requires_grad]

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
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return ``logprobs``, and the entropy of each sampled token's distribution; (S, L).

        Identical rows are read once. Logits are computed only at positions before a token that was
        sampled in some row: with a large vocabulary they take most of the memory.
        """
        batch, unique_S = self._deduplicated(batch)
        logprobs, entropies = self._of_unique(batch, temperature, with_entropy)
        if unique_S is None:
            return logprobs, entropies
        return logprobs[unique_S], None if entropies is None else entropies[unique_S]

    def _deduplicated(self, batch: Batch) -> tuple[Batch, torch.Tensor | None]:
        """Return ``unique_rows``, unless dropout makes identical rows differ."""
        return (batch, None) if self._has_dropout and self.model.training else unique_rows(batch)

    def _of_unique(
        self,
        batch: Batch,
        temperature: float,
        with_entropy: bool,  # noqa: FBT001 - passed on
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        suffixes = self._prefixes.split(batch)
        if suffixes is None:
            inputs = {
                "input_ids": batch.ids,
                "attention_mask": batch.attention.long(),
                "use_cache": False,
            }
            return self._read(batch.ids, batch.turn_of >= 0, inputs, temperature, with_entropy)
        logprobs, entropies = self._read(
            suffixes.ids, suffixes.sampled, suffixes.inputs, temperature, with_entropy
        )
        width = batch.ids.shape[1]
        whole = None if entropies is None else suffixes.to_rows(entropies, width)
        return suffixes.to_rows(logprobs, width), whole

    def _read(
        self,
        ids: torch.Tensor,
        sampled: torch.Tensor,
        inputs: Mapping[str, Any],
        temperature: float,
        with_entropy: bool,  # noqa: FBT001 - passed on
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return log-probabilities and entropies in the shape of ``ids``, 0 if not sampled."""
        (columns,) = torch.where(sampled[:, 1:].any(0))
        options = {"logits_to_keep": columns} if self._keeps_logits else {}
        logits = self.model(**inputs, **options).logits
        if not self._keeps_logits:
            logits = logits[:, columns]
        logits = logits.float() if logits.dtype in _SHORT else logits
        if temperature != 1:
            logits = logits / temperature
        following = torch.cat([ids[:, :1], ids[:, columns + 1]], dim=1)
        # token_logprobs skips the last position's logits, so one more column is appended.
        of_columns = token_logprobs(torch.cat([logits, logits[:, :1]], dim=1), following)[:, 1:]

        def at_tokens(values: torch.Tensor) -> torch.Tensor:
            whole = values.new_zeros(ids.shape)
            return torch.where(sampled, whole.index_copy(1, columns + 1, values), 0)

        return at_tokens(of_columns), at_tokens(entropy(logits)) if with_entropy else None

    def threads_for(self, batch: Batch) -> AbstractContextManager[None]:
        """Limit torch to one thread inside if a pass over the batch is too small for several."""
        batch, _ = self._deduplicated(batch)
        return self._threads.limited(self._prefixes.tokens(batch), batch.ids.shape[1])

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its tokenizer in the format of transformers.

        For a model with adapters, only the adapters are written; see ``save_merged``.
        """
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def save_merged(self, folder: str | os.PathLike[str]) -> None:
        """Write a standalone model, with adapters merged into its weights."""
        if not self.has_adapters:
            self.save(folder)
            return
        merged = copy.deepcopy(self.model).merge_and_unload()
        merged.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def trained_state(self) -> dict[str, torch.Tensor]:
        """Return the trained weights by name, without copying them."""
        return {
            name: one.detach() for name, one in self.model.named_parameters() if one.requires_grad
        }

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


def _base(model: Any) -> Any:
    """Return the transformers model, without peft's wrapper."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _disable_dropout(model: Any) -> None:
    """Disable dropout, so that learner and sampler compute the same probabilities."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if name.endswith("dropout") and isinstance(value, float):
                setattr(module, name, 0.0)


def _compute_in_bf16(module: Any) -> None:
    """Run the forward pass of a module and of its deep copies under autocast."""
    base_class = type(module)

    @functools.wraps(base_class.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.autocast(next(self.parameters()).device.type, torch.bfloat16):
            return base_class.forward(self, *args, **kwargs)

    # The class keeps its name, which is saved in the model's configuration.
    module.__class__ = type(base_class.__name__, (base_class,), {"forward": forward})


def _with_adapters(model: Any, lora: Mapping[str, Any]) -> Any:
    import peft  # noqa: PLC0415 - optional

    options = {"target_modules": "all-linear", "task_type": "CAUSAL_LM", **lora}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # raised by peft's use of transformers
            return peft.get_peft_model(model, peft.LoraConfig(**options))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"lora: {error}") from error


class Reference:
    """A frozen copy of the initial policy, for the KL penalty.

    Args:
        policy: The policy. One with adapters is not copied: without its adapters it is its own
            reference.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._is_base = policy.has_adapters
        if not self._is_base:
            frozen = copy.deepcopy(policy.model).requires_grad_(requires_grad=False)
            self._policy = Policy(frozen, policy.tokenizer, policy.precision)

    def logprobs(self, batch: Batch, *, temperature: float = 1.0) -> torch.Tensor:
        """Return the log-probability of each sampled token, in nats, 0 elsewhere; (S, L)."""
        without: AbstractContextManager[Any] = (
            self._policy.model.disable_adapter() if self._is_base else nullcontext()
        )
        with torch.no_grad(), without:
            return self._policy.logprobs(batch, temperature=temperature)

    def state_dict(self) -> dict[str, torch.Tensor] | None:
        """Return its weights; None if it is the policy without its adapters."""
        return None if self._is_base else self._policy.model.state_dict()

    def load_state_dict(self, state: dict[str, torch.Tensor] | None) -> None:
        """Load what ``state_dict`` returned."""
        if state is not None:
            self._policy.model.load_state_dict(state)


class Critic(torch.nn.Module):  # type: ignore[misc] # torch is not read by mypy
    """Predicts the value of a prompt: a copy of the policy's body with a linear head of zeros.

    Args:
        policy: The policy whose body is copied.

    Raises:
        ConfigError: The policy has adapters.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        base = _base(policy.model)
        if policy.has_adapters:
            raise ConfigError(
                "A critic cannot be trained together with adapters: train all weights (lora=null), "
                "or choose an algorithm without a critic."
            )
        self.body = copy.deepcopy(base.base_model)
        if policy.precision == "bf16":
            _compute_in_bf16(self.body)
        width = base.config.get_text_config().hidden_size
        self._prefixes = SharedPrefixes(self.body, {})
        self.head = torch.nn.Linear(width, 1)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)
        self.to(policy.device)

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the value at each position from a row's first state on, (S, L)."""
        batch, unique_S = unique_rows(batch)
        suffixes = self._prefixes.split(batch)
        if suffixes is None:
            values = self._values(input_ids=batch.ids, attention_mask=batch.attention.long())
        else:
            values = suffixes.to_rows(self._values(**suffixes.inputs), batch.ids.shape[1])
        return values if unique_S is None else values[unique_S]

    def _values(self, **inputs: Any) -> torch.Tensor:
        hidden = self.body(**{"use_cache": False, **inputs}).last_hidden_state
        values: torch.Tensor = self.head(hidden.to(self.head.weight.dtype))[..., 0]
        return values
