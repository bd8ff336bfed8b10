"""Log-probabilities and entropies of chosen tokens, without the logits of all positions.

With a vocabulary of 150,000 tokens, the logits of 16,384 positions take 10 GB in float32, and a
plain backward pass holds several copies. Here the logits of a chunk of positions are computed into
one buffer, which every operation overwrites; the backward pass computes them again. Only the hidden
states and three numbers per token are kept in between.

    log p(x) = z_x - log sum exp z        H = log sum exp z - sum p z        z = logits / T
    d log p(x) / dz_j = [j = x] - p_j     dH / dz_j = -p_j (log p_j + H)

Suffixes name the axes: N tokens, D hidden size, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

__all__ = ["CHUNK_BYTES", "TokenScores", "token_scores"]

CHUNK_BYTES = 2**28
"""Size of the buffer of logits, in bytes."""
_PARTS = 8
"""Parts in which a chunk is converted between float32 and the type of the weights."""


class TokenScores(NamedTuple):
    """The scores of tokens.

    Args:
        logprobs: Log-probability of each token in nats, (N,).
        entropies: Entropy of each token's distribution in nats, (N,).
    """

    logprobs: torch.Tensor
    entropies: torch.Tensor


def token_scores(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    ids: torch.Tensor,
    *,
    bias: torch.Tensor | None = None,
    temperature: float = 1.0,
    chunk_bytes: int = CHUNK_BYTES,
) -> TokenScores:
    """Return the scores of tokens whose logits are ``hidden @ weight.T + bias``.

    They are in float32, or in float64 if the weights are. Values and gradients are those of
    ``log_softmax``, up to rounding.

    Args:
        hidden: The last hidden states before the tokens, (N, D).
        weight: The weights of the output layer, (V, D).
        ids: The tokens, (N,).
        bias: The bias of the output layer, (V,).
        temperature: T of ``softmax(logits / T)``, above 0.
        chunk_bytes: Size of the buffer of logits; it holds at least one token.
    """
    return TokenScores(*_Scores.apply(hidden, weight, bias, ids, temperature, chunk_bytes))


class _Scores(torch.autograd.Function):  # type: ignore[misc] # torch is not read by mypy
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        ids: torch.Tensor,
        temperature: float,
        chunk_bytes: int,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        chunks = _Chunks(hidden, weight, bias, temperature, chunk_bytes)
        logprobs, entropies, sums = (chunks.new(len(ids)) for _ in range(3))
        for part, z in chunks.logits():
            top = z.amax(-1, keepdim=True)
            chosen = z.sub_(top).gather(1, ids[part, None])[:, 0]
            total = z.exp_().sum(-1, keepdim=True)
            logprobs[part] = chosen - total[:, 0].log()
            sums[part] = (top + total.log())[:, 0]
            entropies[part] = torch.special.entr(z.div_(total), out=z).sum(-1)
        ctx.save_for_backward(hidden, weight, bias, ids, sums, entropies)
        ctx.options = temperature, chunk_bytes
        ctx.set_materialize_grads(False)
        return logprobs, entropies

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(
        ctx: Any, of_logprobs: torch.Tensor | None, of_entropies: torch.Tensor | None
    ) -> tuple[Any, ...]:
        hidden, weight, bias, ids, sums, entropies = ctx.saved_tensors
        temperature, chunk_bytes = ctx.options
        # The gradient of the entropy needs a second buffer, so each is half as large.
        chunk_bytes = chunk_bytes if of_entropies is None else chunk_bytes // 2
        chunks = _Chunks(hidden, weight, bias, temperature, chunk_bytes)
        gradients = _Gradients(chunks, ctx.needs_input_grad)
        if of_logprobs is None:
            of_logprobs = torch.zeros_like(sums)
        for part, z in chunks.logits():
            of_chosen = of_logprobs[part, None]
            z.sub_(sums[part, None])
            if of_entropies is None:
                z.exp_().mul_(-of_chosen)
            else:
                p = z.exp()
                z.add_(entropies[part, None]).mul_(of_entropies[part, None]).add_(of_chosen)
                z.mul_(p).neg_()
                del p
            z.scatter_add_(1, ids[part, None], of_chosen)
            gradients.add(part, z.div_(temperature))
        return gradients.hidden, gradients.of_weight(), gradients.of_bias(), *(None,) * 3


class _Chunks:
    """The logits of tokens, chunk by chunk in one buffer."""

    def __init__(
        self,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        temperature: float,
        chunk_bytes: int,
    ) -> None:
        self.input, self.weight, self.bias = hidden.to(weight.dtype), weight, bias
        self.original = hidden
        self._temperature = temperature
        self.dtype = torch.promote_types(weight.dtype, torch.float32)
        size = len(weight) * self.dtype.itemsize
        self._rows = max(1, min(len(hidden), chunk_bytes // size))

    def new(self, *shape: int) -> torch.Tensor:
        return self.weight.new_empty(shape, dtype=self.dtype)

    def logits(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Yield the slice of the tokens of each chunk, and ``logits / T``, to be overwritten."""
        buffer = self.new(self._rows, len(self.weight))
        for start in range(0, len(self.input), self._rows):
            part = slice(start, min(start + self._rows, len(self.input)))
            z = buffer[: part.stop - part.start]
            for few in self.parts(z):
                if self.dtype == self.weight.dtype:
                    torch.mm(self.input[part][few], self.weight.T, out=z[few])
                else:
                    z[few] = self.input[part][few] @ self.weight.T
            if self.bias is not None:
                z.add_(self.bias)
            yield part, z.div_(self._temperature) if self._temperature != 1 else z

    def parts(self, z: torch.Tensor) -> Iterator[slice]:
        """Yield slices of the rows of a chunk whose copies in another type are small."""
        step = len(z) if self.dtype == self.weight.dtype else -(-len(z) // _PARTS)
        return (slice(start, start + step) for start in range(0, len(z), max(1, step)))


class _Gradients:
    """The gradients of the inputs that need one, summed over chunks."""

    def __init__(self, chunks: _Chunks, needed: tuple[bool, ...]) -> None:
        self._chunks = chunks
        shape = chunks.weight.shape
        self.hidden = torch.empty_like(chunks.original) if needed[0] else None
        self._weight = chunks.new(*shape).zero_() if needed[1] else None
        self._bias = chunks.new(shape[0]).zero_() if needed[2] else None

    def add(self, part: slice, of_logits: torch.Tensor) -> None:
        """Add those of a chunk."""
        chunks = self._chunks
        for few in chunks.parts(of_logits):
            gradient = of_logits[few].to(chunks.weight.dtype)
            if self.hidden is not None:
                self.hidden[part][few] = (gradient @ chunks.weight).to(self.hidden)
            if self._weight is not None and chunks.dtype == chunks.weight.dtype:
                self._weight.addmm_(gradient.T, chunks.input[part][few])
            elif self._weight is not None:
                self._weight += gradient.T @ chunks.input[part][few]
        if self._bias is not None:
            self._bias += of_logits.sum(0)

    def of_weight(self) -> torch.Tensor | None:
        return None if self._weight is None else self._weight.to(self._chunks.weight.dtype)

    def of_bias(self) -> torch.Tensor | None:
        return None if self._bias is None else self._bias.to(self._chunks.weight.dtype)
