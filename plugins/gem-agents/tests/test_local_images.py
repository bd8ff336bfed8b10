"""The local model with images: the cache, and what several prompts share."""

import asyncio

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gem_agents.local_model import LocalModel, load_model
from gem_agents.prompt_images import PromptImages
from gem_core.content import Image
from gem_core.errors import DataError
from gem_rollout.models.tiny_vision_model import save_tiny_vision_model
from gem_rollout.models.vision import load_with_processor
from gem_rollout.tokens.sampler import Request

PIL_Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    model, processor = load_with_processor(
        save_tiny_vision_model(tmp_path_factory.mktemp("vlm")), {}
    )
    return model.eval(), processor


@pytest.fixture
def model(loaded):
    made = LocalModel(*loaded, batch_size=8)
    made.join(made)  # as an agent that plays, so that the cache is kept
    return made


def image(colour):
    return Image.of(PIL_Image.new("RGB", (28, 28), colour))


RED, BLUE = image("red"), image("blue")
TEXT = "Some words that come before the image. <image> And some more that come after it."


def request(model, images, text=TEXT, ids=(), tokens=6):
    new = model.vision.encode(text, images)
    return Request([*ids, *new], tokens, seed=1, images=images)


def ask(model, *requests):
    async def every():
        return await asyncio.gather(*(model.submit(one) for one in requests))

    return asyncio.run(every())


@torch.no_grad()
def literal(model, asked, sampled):
    """Log-probabilities of a plain pass over the prompt and the reply."""
    ids = torch.tensor([[*asked.ids, *sampled.ids]])
    inputs = model.vision.inputs(ids, asked.images, dtype=torch.float32)
    logits = model.vision.masked(model.model(input_ids=ids, **inputs).logits[0])
    scores = logits[len(asked.ids) - 1 : -1].log_softmax(-1)
    return scores.gather(1, torch.tensor(sampled.ids)[:, None])[:, 0].tolist()


def test_prompts_with_equal_tokens_and_different_images_have_different_replies(model):
    asked = [request(model, [one]) for one in (RED, BLUE, RED, BLUE)]
    assert asked[0].ids == asked[1].ids
    first, second, third, _ = found = ask(model, *asked)
    assert first.logprobs != second.logprobs
    assert first.ids == third.ids
    for one, sampled in zip(asked, found, strict=True):
        assert sampled.logprobs == pytest.approx(literal(model, one, sampled), abs=1e-4)


def test_a_later_turn_reads_its_own_image_only(model, monkeypatch):
    seen = []
    monkeypatch.setattr(type(model.vision), "inputs", _counting(type(model.vision).inputs, seen))

    async def two_turns():
        first = request(model, [RED])
        reply = await model.submit(first)
        more = request(model, [BLUE], ids=[*first.ids, *reply.ids])
        second = Request(more.ids, 6, seed=2, images=[RED, BLUE])
        return second, await model.submit(second)

    second, found = asyncio.run(two_turns())
    assert seen == [[RED], [BLUE]]
    assert found.logprobs == pytest.approx(literal(model, second, found), abs=1e-4)


def test_the_episodes_of_a_group_read_their_image_once(model, monkeypatch):
    asked = [request(model, [RED])] * 4
    seen = []
    monkeypatch.setattr(type(model.vision), "inputs", _counting(type(model.vision).inputs, seen))
    ask(model, *asked)
    assert seen == [[RED]]


def _counting(method, seen):
    def inputs(self, ids, images, **options):
        if images:
            seen.append(list(images))
        return method(self, ids, images, **options)

    return inputs


def test_replies_without_a_cache_are_the_same(model, monkeypatch):
    asked = [
        request(model, [RED]),
        request(model, [BLUE], "<image> Short."),
        request(model, [], "Plain."),
    ]
    cached = ask(model, *asked)
    plain = LocalModel(model.model, model.vision.processor, batch_size=8)
    monkeypatch.setattr(type(plain._mutable_model), "can_cache", property(lambda _: False))
    for one, other in zip(cached, ask(plain, *asked), strict=True):
        assert one.ids == other.ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_reply_that_was_interrupted_goes_on_with_its_image(model):
    """The cache has room for one of the prompts at a time."""
    small = LocalModel(model.model, model.vision.processor, batch_size=8, kv_tokens=128)
    asked = [request(model, [one], tokens=40) for one in (RED, BLUE)]
    for one, sampled in zip(asked, ask(small, *asked), strict=True):
        assert sampled.logprobs == pytest.approx(literal(model, one, sampled), abs=1e-4)


def test_a_model_that_is_loaded_by_its_folder_reads_images(tmp_path):
    folder = save_tiny_vision_model(tmp_path)
    found = load_model(folder, device="cpu", dtype="auto", batch_size=2)
    assert found.vision is not None
    assert found.tokenizer.eos_token_id in found.vision.encode("<|im_end|>", [])


SPANS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), max_size=5)


@given(SPANS, st.integers(0, 60))
def test_a_cached_beginning_has_whole_images(gaps, cached):
    spans, end = [], 0
    for gap, size in gaps:
        spans.append((end + gap, end + gap + size))
        end = spans[-1][1]
    images = [f"image {number}" for number in range(len(spans))]
    prompt = PromptImages(images, spans, list(range(end + 1)), None)
    cached = min(cached, end)
    whole = prompt.whole(cached)
    assert whole <= cached
    assert not any(start < whole < end for start, end in spans)
    assert all(not (whole < start < cached and end <= cached) for start, end in spans)
    assert prompt.after(whole) == [
        one for one, (start, _) in zip(images, spans, strict=True) if start >= whole
    ]


def test_a_prompt_with_a_wrong_number_of_images_is_an_error_of_its_own(model):
    async def both():
        good = model.submit(request(model, [RED]))
        with pytest.raises(DataError, match="has 4 tokens of images, and its 2 images have 8"):
            model.submit(Request(request(model, [RED]).ids, 4, images=[RED, BLUE]))
        return await good

    assert asyncio.run(both()).ids


def test_a_prompt_that_ends_with_an_image_can_be_repeated(model):
    """All but its last token are cached, and its last token belongs to the image."""
    asked = request(model, [RED], "Look at this: <image>")

    async def twice():
        return [await model.submit(asked), await model.submit(asked)]

    for sampled in asyncio.run(twice()):
        assert sampled.logprobs == pytest.approx(literal(model, asked, sampled), abs=1e-4)
