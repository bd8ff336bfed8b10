"""What learns: a causal language model of transformers with its tokenizer, and a critic.

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
from gem_rollout.models.torch_threads import TorchThreads
from gem_train.batch import Batch, distinct
from gem_train.losses import entropy, token_logprobs
from gem_train.prefixes import Prefixes

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
        model: A causal language model of transformers, or one of peft around it.
        tokenizer: Its tokenizer.
        precision: What it computes in, as ``load`` has set it up.
    """

    def __init__(
        self, model: Any, tokenizer: Any, precision: Literal["float32", "bf16"] = "float32"
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.precision = precision
        self._keeps_logits = "logits_to_keep" in inspect.signature(_plain(model).forward).parameters
        self._prefixes = Prefixes(model, {"logits_to_keep": 1} if self._keeps_logits else {})
        self._threads = TorchThreads(model)
        modules = list(model.modules())
        self._draws = any(one.p > 0 for one in modules if isinstance(one, torch.nn.Dropout))
        is_checkpointed = any(getattr(one, "gradient_checkpointing", False) for one in modules)
        self._trains_apart = self._draws or is_checkpointed

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
            path: Folder or name of the model; or a folder that ``save`` wrote adapters to.
            device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
            precision: ``bf16`` computes in bfloat16 (autocast), for sampling too; weights and the
                optimiser's state stay in float32. With ``lora`` the frozen weights are in bfloat16.
            lora: Parameters of peft's ``LoraConfig`` (``r``, ``lora_alpha``, ``target_modules``,
                ...) to train adapters only; None to train all weights.
            gradient_checkpointing: Compute activations again instead of keeping them.

        Raises:
            ConfigError: The model cannot be loaded, or torch, transformers or peft are missing.
        """
        for needed in ("transformers", *(["peft"] if lora is not None else [])):
            if importlib.util.find_spec(needed) is None:
                extra = "lora" if needed == "peft" else "torch"
                raise ConfigError(f"Training needs {needed}: pip install gem-train[{extra}].")
        import transformers  # noqa: PLC0415 - seconds, and only who trains has it

        chosen = pick_device(device)
        frozen = torch.bfloat16 if precision == "bf16" and lora is not None else torch.float32
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(path)
            model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=frozen)
            model.to(chosen)
        except (OSError, ValueError, RuntimeError, AttributeError) as error:
            raise ConfigError(f"The model {str(path)!r} cannot be loaded: {error}") from error
        _rest_dropout(model)
        if precision == "bf16":
            _compute_in_bf16(model)
        if lora is not None:
            model = _with_adapters(model, lora)
        if gradient_checkpointing:
            _plain(model).enable_input_require_grads()
            # transformers 5 has renamed it.
            name = "activation_checkpointing_enable"
            name = name if hasattr(_plain(model), name) else "gradient_checkpointing_enable"
            getattr(_plain(model), name)({"use_reentrant": False})
        return cls(model.eval(), tokenizer, precision)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return next(self.model.parameters()).device

    @property
    def has_adapters(self) -> bool:
        """Whether only adapters (LoRA) are trained."""
        return hasattr(self.model, "peft_config")

    def parameters(self) -> list[torch.nn.Parameter]:
        """Return what is trained."""
        return [one for one in self.model.parameters() if one.requires_grad]

    def logprobs(self, batch: Batch, *, temperature: float = 1.0) -> torch.Tensor:
        """Return the log-probability of each token given those before it, in nats; (S, L).

        It is 0 where nothing was sampled. With a temperature it is that of ``softmax(z / T)``.

        Args:
            batch: The rows.
            temperature: T, above 0.
        """
        return self.logprobs_and_entropy(batch, temperature=temperature, with_entropy=False)[0]

    def logprobs_and_entropy(
        self, batch: Batch, *, temperature: float = 1.0, with_entropy: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return ``logprobs``, and the entropy of the distribution that each token is from; (S, L).

        Rows that are alike are read once. Logits are made only at positions before a token that
        was sampled in some row: with a large vocabulary they are most of the memory.
        """
        batch, owner_S = self._once(batch)
        logprobs, entropies = self._of_distinct(batch, temperature, with_entropy)
        if owner_S is None:
            return logprobs, entropies
        return logprobs[owner_S], None if entropies is None else entropies[owner_S]

    def _once(self, batch: Batch) -> tuple[Batch, torch.Tensor | None]:
        """Return rows that are alike once, and the number of each row's, None if no two are."""
        return (batch, None) if self._draws and self.model.training else distinct(batch)

    def _of_distinct(
        self,
        batch: Batch,
        temperature: float,
        with_entropy: bool,  # noqa: FBT001 - passed on
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        rest = self._prefixes.read(batch)
        if rest is None:
            inputs = {
                "input_ids": batch.ids,
                "attention_mask": batch.attention.long(),
                "use_cache": False,
            }
            return self._read(batch.ids, batch.turn_of >= 0, inputs, temperature, with_entropy)
        logprobs, entropies = self._read(
            rest.ids, rest.sampled, rest.inputs, temperature, with_entropy
        )
        shape = batch.ids.shape
        whole = None if entropies is None else rest.whole(entropies, shape)
        return rest.whole(logprobs, shape), whole

    def _read(
        self,
        ids: torch.Tensor,
        sampled: torch.Tensor,
        inputs: Mapping[str, Any],
        temperature: float,
        with_entropy: bool,  # noqa: FBT001 - passed on
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return log-probabilities and entropies of sampled tokens, 0 elsewhere; like ``ids``."""
        (columns,) = torch.where(sampled[:, 1:].any(0))
        options = {"logits_to_keep": columns} if self._keeps_logits else {}
        logits = self.model(**inputs, **options).logits
        if not self._keeps_logits:
            logits = logits[:, columns]
        logits = logits.float() if logits.dtype in _SHORT else logits
        if temperature != 1:
            logits = logits / temperature
        following = torch.cat([ids[:, :1], ids[:, columns + 1]], dim=1)
        # token_logprobs takes logits of all positions: what is said first is of no token.
        of_columns = token_logprobs(torch.cat([logits, logits[:, :1]], dim=1), following)[:, 1:]

        def placed(values: torch.Tensor) -> torch.Tensor:
            whole = values.new_zeros(ids.shape)
            return torch.where(sampled, whole.index_copy(1, columns + 1, values), 0)

        return placed(of_columns), placed(entropy(logits)) if with_entropy else None

    def reading(self, batch: Batch) -> AbstractContextManager[None]:
        """Take as many threads inside as reading a batch is worth, forwards and backwards."""
        batch, _ = self._once(batch)
        return self._threads.of(self._prefixes.tokens(batch), batch.ids.shape[1])

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its tokenizer as transformers reads them.

        Of a model with adapters, only they are written; see ``save_merged``.
        """
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def save_merged(self, folder: str | os.PathLike[str]) -> None:
        """Write the model as one that needs neither adapters nor their base."""
        if not self.has_adapters:
            self.save(folder)
            return
        merged = copy.deepcopy(self.model).merge_and_unload()
        merged.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def trained_state(self) -> dict[str, torch.Tensor]:
        """Return the weights that are trained, by name, as they are (not copied)."""
        return {
            name: one.detach() for name, one in self.model.named_parameters() if one.requires_grad
        }

    def load_trained_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take weights that ``trained_state`` gave.

        Raises:
            ConfigError: They are those of another model.
        """
        here = self.trained_state()
        if here.keys() != state.keys() or any(here[n].shape != state[n].shape for n in here):
            raise ConfigError("The checkpoint holds the weights of another model than this one.")
        for name, one in here.items():
            one.copy_(state[name])  # of detached tensors: there is no graph

    @contextmanager
    def training(self) -> Iterator[None]:
        """Have what is of training alone act inside: gradient checkpointing, adapters' dropout."""
        if not self._trains_apart:
            yield
            return
        self.model.train()
        try:
            yield
        finally:
            self.model.eval()


_SHORT = (torch.float16, torch.bfloat16)


def _plain(model: Any) -> Any:
    """Return the model of transformers inside one of peft."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _rest_dropout(model: Any) -> None:
    """Switch dropout off: the learner's probabilities are to be the sampler's."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if name.endswith("dropout") and isinstance(value, float):
                setattr(module, name, 0.0)


def _compute_in_bf16(module: Any) -> None:
    """Have a module's forward pass run under autocast, and that of its deep copies."""
    plain_class = type(module)

    @functools.wraps(plain_class.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.autocast(next(self.parameters()).device.type, torch.bfloat16):
            return plain_class.forward(self, *args, **kwargs)

    # The class keeps its name: it is written into the model's configuration.
    module.__class__ = type(plain_class.__name__, (plain_class,), {"forward": forward})


def _with_adapters(model: Any, lora: Mapping[str, Any]) -> Any:
    import peft  # noqa: PLC0415 - optional

    options = {"target_modules": "all-linear", "task_type": "CAUSAL_LM", **lora}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # peft's own use of transformers
            return peft.get_peft_model(model, peft.LoraConfig(**options))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"lora: {error}") from error


class Reference:
    """The policy as it was at the start, for the KL to it.

    Args:
        policy: The policy; one with adapters is its own reference, without them.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._shares = policy.has_adapters
        if not self._shares:
            frozen = copy.deepcopy(policy.model).requires_grad_(requires_grad=False)
            self._policy = Policy(frozen, policy.tokenizer, policy.precision)

    def logprobs(self, batch: Batch, *, temperature: float = 1.0) -> torch.Tensor:
        """Return the log-probability of each sampled token, in nats, 0 elsewhere; (S, L)."""
        without: AbstractContextManager[Any] = (
            self._policy.model.disable_adapter() if self._shares else nullcontext()
        )
        with torch.no_grad(), without:
            return self._policy.logprobs(batch, temperature=temperature)

    def state_dict(self) -> dict[str, torch.Tensor] | None:
        """Return its weights; None of one that is the policy without its adapters."""
        return None if self._shares else self._policy.model.state_dict()

    def load_state_dict(self, state: dict[str, torch.Tensor] | None) -> None:
        """Take what ``state_dict`` gave."""
        if state is not None:
            self._policy.model.load_state_dict(state)


class Critic(torch.nn.Module):  # type: ignore[misc] # torch is not read by mypy
    """Predicts what a prompt is worth: a copy of the policy's body, and a linear head of zeros.

    Args:
        policy: The policy whose body is copied, as it is now.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        plain = _plain(policy.model)
        if policy.has_adapters:
            raise ConfigError(
                "A critic beside adapters is not supported: train all weights (lora=null), or "
                "choose an algorithm without a critic."
            )
        self.body = copy.deepcopy(plain.base_model)
        if policy.precision == "bf16":
            _compute_in_bf16(self.body)
        width = plain.config.get_text_config().hidden_size
        self._prefixes = Prefixes(self.body, {})
        self.head = torch.nn.Linear(width, 1)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)
        self.to(policy.device)

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the value read at each position from a row's first state on, (S, L)."""
        batch, owner_S = distinct(batch)
        rest = self._prefixes.read(batch)
        if rest is None:
            values = self._values(input_ids=batch.ids, attention_mask=batch.attention.long())
        else:
            values = rest.whole(self._values(**rest.inputs), batch.ids.shape)
        return values if owner_S is None else values[owner_S]

    def _values(self, **inputs: Any) -> torch.Tensor:
        hidden = self.body(**{"use_cache": False, **inputs}).last_hidden_state
        values: torch.Tensor = self.head(hidden.to(self.head.weight.dtype))[..., 0]
        return values
