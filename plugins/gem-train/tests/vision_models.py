"""Small vision-language models of several architectures, and an environment with images."""

import PIL.Image
import torch
import transformers

from gem_agents.local import LocalAgent
from gem_core.content import Image
from gem_core.env import BaseEnv, Step
from gem_core.factory import make_factory
from gem_rollout import collect
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.models.tiny_vision_model import VISION_CHAT_TEMPLATE, save_tiny_vision_model
from gem_train.policy import Policy

TEXT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.1,
    "bos_token_id": None,
}
ARCHITECTURES = ("llava", "qwen2.5-vl", "idefics3")


def vision_policy(architecture, folder):
    """A policy of an architecture; LLaVA's is saved to the folder and loaded."""
    if architecture == "llava":
        return Policy.load(save_tiny_vision_model(folder, layers=2), device="cpu")
    make = {"qwen2.5-vl": _qwen, "idefics3": _idefics}[architecture]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model, processor = make()
    return Policy(model.eval(), processor)


def _tokenizer(*special):
    tokenizer = make_tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(special)})
    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    return tokenizer, {**TEXT, **ids, "vocab_size": len(tokenizer)}


class _ImagesOnly(transformers.Qwen2_5_VLProcessor):
    """Qwen's processor without that of videos, which needs torchvision."""

    def check_argument_for_proper_class(self, argument_name, argument):
        """Accept that there is none."""


def _qwen():
    """Positions have three axes, and images of different sizes have different numbers of tokens."""
    kind = getattr(transformers, "Qwen2VLImageProcessorPil", None)
    kind = kind or transformers.Qwen2VLImageProcessor
    names = ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>")
    tokenizer, text = _tokenizer(*names)
    start, image, end, video = map(tokenizer.convert_tokens_to_ids, names)
    processor = _ImagesOnly(
        kind(size={"shortest_edge": 28 * 28, "longest_edge": 56 * 56}),
        tokenizer,
        None,
        chat_template=VISION_CHAT_TEMPLATE.replace("<image>", "".join(names[:3])),
    )
    config = transformers.Qwen2_5_VLConfig(
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": 64,
            "window_size": 56,
            "fullatt_block_indexes": [1],
        },
        text_config={
            **text,
            "rope_parameters": {
                "rope_type": "default",
                "mrope_section": [2, 3, 3],
                "rope_theta": 10000.0,
            },
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
        tie_word_embeddings=True,
    )
    return transformers.Qwen2_5_VLForConditionalGeneration(config), processor


def _idefics():
    """An image is split into parts, with tokens of text between theirs."""
    kind = getattr(transformers, "Idefics3ImageProcessorPil", None)
    kind = kind or transformers.Idefics3ImageProcessor
    places = [f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)]
    names = ("<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>")
    tokenizer, text = _tokenizer(*names, *places)
    processor = transformers.Idefics3Processor(
        kind(
            size={"longest_edge": 56}, max_image_size={"longest_edge": 28}, do_image_splitting=True
        ),
        tokenizer,
        image_seq_len=1,
        chat_template=VISION_CHAT_TEMPLATE,
    )
    config = transformers.Idefics3Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 28,
            "patch_size": 14,
        },
        text_config={"model_type": "llama", **text},
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    return transformers.Idefics3ForConditionalGeneration(config), processor


def gemma_policy():
    """A policy whose image tokens attend to each other in both directions."""
    kind = getattr(transformers, "Gemma3ImageProcessorPil", None)
    kind = kind or transformers.Gemma3ImageProcessor
    names = ("<start_of_image>", "<end_of_image>", "<image_soft_token>")
    tokenizer, text = _tokenizer(*names)
    begin, end, image = map(tokenizer.convert_tokens_to_ids, names)
    tokenizer.boi_token, tokenizer.eoi_token, tokenizer.image_token = names
    tokenizer.boi_token_id, tokenizer.eoi_token_id, tokenizer.image_token_id = begin, end, image
    processor = transformers.Gemma3Processor(
        kind(size={"height": 28, "width": 28}), tokenizer, image_seq_length=4
    )
    config = transformers.Gemma3Config(
        text_config={**text, "head_dim": 16},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 28,
            "patch_size": 7,
        },
        mm_tokens_per_image=4,
        boi_token_index=begin,
        eoi_token_index=end,
        image_token_index=image,
    )
    return Policy(transformers.Gemma3ForConditionalGeneration(config).eval(), processor)


def square(colour, width=28):
    return Image.of(PIL.Image.new("RGB", (width, width), colour))


class Colour(BaseEnv):
    """Right is a word before ``n`` for red and a later one for blue; some turns show no image.

    Args:
        turns: Number of turns; every third one shows no image.
    """

    def __init__(self, *, turns=1):
        self.turns = turns

    def start(self):
        self.turn = 0
        return self._look(), {}

    def step(self, action):
        is_right = (action < "n") == (self.colour == "red")
        self.turn += 1
        is_over = self.turn == self.turns
        seen = "" if is_over else "And now?" if self.turn % 3 == 1 else self._look()
        return Step(seen, float(is_right), is_over, False, {"correct": is_right})

    def _look(self):
        self.colour = self.rng.choice(["red", "blue"])
        return {
            "text": "Which? <image>",
            "images": [square(self.colour, self.rng.choice([28, 56]))],
        }


def rows_factory():
    """A factory of an environment over rows with images."""
    rows = [
        {"problem": "Which colour? <image>", "images": [square(colour)], "answer": colour}
        for colour in ("red", "blue", "green")
    ]
    return make_factory({"id": "math:Custom-Visual", "data": rows})


def play(policy, *, episodes=16, turns=3, make=None, **options):
    """Episodes of the environment ``Colour`` in groups of four."""
    agent = {"max_new_tokens": 5, "seed": 1, "scaled_logprobs": True, **options}
    played = collect(
        make or (lambda: Colour(turns=turns)),
        lambda: LocalAgent(model=policy.model, tokenizer=policy.processor, **agent),
        episodes=episodes,
        episodes_per_group=4,
        seed=0,
    )
    found = sorted(played, key=lambda one: one.index)
    assert not any(one.error for one in found), found[0].error
    return found
