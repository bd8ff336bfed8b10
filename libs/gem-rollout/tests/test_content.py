"""Observations with images: what is an image, where it stands, what chat models are given."""

import base64
import io
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import PIL.Image
import PIL.ImageDraw
import pytest
from cli import gem
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

from gem_core import Action, BaseEnv, Info, Observation, Step, register
from gem_core.content import (
    PLACEHOLDER,
    Image,
    images_of,
    place_images,
)
from gem_core.errors import ContentError
from gem_core.plugins import load_plugins
from gem_core.tool import BaseTool, ToolCall, ToolResult
from gem_core.wrappers import HistoryWrapper, ToolWrapper
from gem_rollout import Trajectory, TrajectoryFile, Turn, read_trajectories
from gem_rollout.tokens.chat_content import TextPart, content_parts, to_openai, to_transformers

EXAMPLES = 100 if thorough() else 30
# Texts in which placeholders, and what looks like them, are common.
TEXTS = st.lists(st.sampled_from(["<image>", "[image]", "<", "image>", "a", "\n"])).map("".join)


def picture(side: int = 8, mode: str = "RGB") -> PIL.Image.Image:
    drawn = PIL.Image.new(mode, (side, side))
    PIL.ImageDraw.Draw(drawn).line((0, 0, side, side), fill=1)
    return drawn


def encoded(kind: str, side: int = 8, mode: str = "RGB") -> bytes:
    file = io.BytesIO()
    picture(side, mode).save(file, kind)
    return file.getvalue()


A, B, C = (Image.of(picture(side)) for side in (8, 9, 10))


class TestImage:
    @pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
    def test_a_file_of_the_web_is_kept_as_it_is(self, kind: str, tmp_path: Path) -> None:
        data = encoded(kind)
        image = Image.of(data)
        assert image == Image(data, f"image/{kind.lower()}")
        (tmp_path / "file").write_bytes(data)
        path = tmp_path / "file"
        for same in (
            image,
            bytearray(data),
            path,
            str(path),
            {"bytes": data, "path": "gone.png"},
            {"bytes": None, "path": str(path)},
            image.data_url,
        ):
            assert Image.of(same) == image
        assert image.open().size == (8, 8)

    @pytest.mark.parametrize("kind", ["BMP", "TIFF"])
    def test_other_formats_become_png_with_the_same_pixels(self, kind: str) -> None:
        image = Image.of(encoded(kind))
        assert image.media_type == "image/png"
        assert image.open().tobytes() == picture().tobytes()

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
    def test_a_pil_image_keeps_its_pixels(self, mode: str) -> None:
        original = picture(mode=mode)
        opened = Image.of(original).open()
        assert (opened.mode, opened.tobytes()) == (mode, original.tobytes())

    @pytest.mark.parametrize("mode", ["CMYK", "YCbCr", "HSV", "I", "F"])
    def test_modes_that_png_lacks_become_rgb(self, mode: str) -> None:
        assert Image.of(picture(mode=mode)).open().mode == "RGB"

    def test_a_value_that_is_no_image_is_refused(self, subtests: pytest.Subtests) -> None:
        rows: list[tuple[Any, str]] = [
            (None, "got NoneType"),
            (3, "got int"),
            ([b""], "got list"),
            (b"", "These 0 bytes are not an image"),
            (b"<svg></svg>", r"These 11 bytes are not an image .* begin with b'<svg></svg>'"),
            ({}, r"has 'bytes' or 'path'; got the keys \[\]"),
            ({"bytes": None, "path": None}, "neither with a value"),
            ({"path": {"path": "x"}}, "neither with a value"),
            ("no/such/file.png", "'no/such/file.png' cannot be read: .*No such file"),
            ("nul\0byte", "cannot be read"),
            ("data:image/png,plain", "it is not in base64"),
            ("data:image/png;base64,%%%", "holds no image"),
            ("data:text/plain;base64,aGVsbG8=", "These 5 bytes are not an image"),
        ]
        for value, message in rows:
            with subtests.test(repr(value)), pytest.raises(ContentError, match=message):
                Image.of(value)

    def test_a_damaged_image_is_an_error_when_it_is_opened(self) -> None:
        image = Image.of(encoded("PNG", side=64)[:-40])
        with pytest.raises(ContentError, match="not an image that can be read"):
            image.open()

    def test_images_can_be_compared_pickled_and_written_as_json(self) -> None:
        assert Image.of(picture()) == A != B
        assert len({A, Image.of(picture()), B}) == 2
        assert pickle.loads(pickle.dumps(A)) == A  # noqa: S301 - its own
        assert Image.of(json.loads(json.dumps(A.to_json()))) == A

    def test_the_repr_of_an_image_leaves_out_its_bytes(self) -> None:
        assert repr(A) == f"Image(image/png, {len(A.data)} bytes)"

    def test_an_image_cannot_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            A.data = b""  # type: ignore[misc]

    @pytest.mark.slow
    def test_images_need_no_import_of_pillow(self, run_python: Callable[..., str]) -> None:
        code = (
            "import sys, gem_rollout.tokens.chat_content as c\n"
            "c.to_openai(c.content_parts({'text': 'a', 'images': [b'GIF89a']}))\n"
            "print([name for name in ('PIL', 'numpy', 'transformers') if name in sys.modules])"
        )
        assert run_python(code).strip() == "[]"


class TestParts:
    def test_an_observation_of_text_is_one_part_even_with_placeholders(self) -> None:
        assert content_parts("a <image> b") == [TextPart("a <image> b")]

    def test_a_dict_without_images_is_its_text(self) -> None:
        for observation in ({"text": "<image>"}, {"text": "<image>", "images": []}):
            assert content_parts(observation) == [TextPart("<image>")]

    def test_images_stand_where_the_placeholders_are(self) -> None:
        observation = {"problem": "Is <image> like <image>?", "images": [A, B]}
        assert content_parts(observation) == [
            TextPart("Is "),
            A,
            TextPart(" like "),
            B,
            TextPart("?"),
        ]

    def test_images_without_a_placeholder_come_first(self) -> None:
        assert content_parts({"text": "same?", "images": [A, B]}) == [A, B, TextPart("same?")]
        assert content_parts({"text": "see <image>", "images": [A, B]}) == [
            A,
            TextPart("see "),
            B,
        ]

    def test_placeholders_without_an_image_are_disarmed(self) -> None:
        observation = {"text": "<image> or <image>", "images": [A]}
        assert content_parts(observation) == [A, TextPart(" or [image]")]

    def test_one_image_needs_no_list_and_may_have_any_supported_form(self) -> None:
        for value in (A, [A], (A,), picture(), [A.data], [{"bytes": A.data}], A.to_json()):
            assert content_parts({"text": "", "images": value}) == [A]

    def test_prefix_and_suffix_are_shown_with_the_text(self) -> None:
        info = {"prefix": "P ", "suffix": "S"}
        assert content_parts("text", info) == [TextPart("P text\nS")]
        assert content_parts({"text": "<image>x", "images": [A]}, info) == [
            TextPart("P "),
            A,
            TextPart("x\nS"),
        ]

    def test_an_observation_with_something_other_than_an_image_is_an_error(self) -> None:
        with pytest.raises(ContentError, match="got int"):
            content_parts({"text": "", "images": [A, 3]})

    @pytest.mark.slow
    @settings(max_examples=EXAMPLES)
    @given(TEXTS, st.integers(0, 4))
    def test_place_images_corrects_the_number_of_placeholders(self, text: str, count: int) -> None:
        placed = place_images(text, count)
        assert placed.count(PLACEHOLDER) == count
        assert place_images(placed, count) == placed
        assert placed.removeprefix(PLACEHOLDER * max(0, count - text.count(PLACEHOLDER))).replace(
            "[image]", PLACEHOLDER
        ) == text.replace("[image]", PLACEHOLDER)

    @pytest.mark.slow
    @settings(max_examples=EXAMPLES)
    @given(TEXTS, st.integers(1, 4))
    def test_content_parts_are_the_text_and_the_images(self, text: str, count: int) -> None:
        images = [A, B, C, A][:count]
        parts = content_parts({"text": text, "images": images})
        assert [part for part in parts if isinstance(part, Image)] == images
        joined = "".join(part.text if isinstance(part, TextPart) else "<image>" for part in parts)
        assert joined == place_images(text, count)
        assert TextPart("") not in parts


class TestMessages:
    def test_openai_gets_text_as_text_and_images_as_urls(self) -> None:
        assert to_openai(content_parts("hello")) == "hello"
        assert to_openai([TextPart("see "), A]) == [
            {"type": "text", "text": "see "},
            {
                "type": "image_url",
                "image_url": {
                    "url": "data:image/png;base64," + base64.b64encode(A.data).decode(),
                },
            },
        ]

    @pytest.mark.slow
    @pytest.mark.parametrize("parts", [[TextPart("hello")], [TextPart("see "), A, B]])
    def test_the_types_of_the_openai_sdk_accept_the_content(self, parts: list[Any]) -> None:
        types = needs("openai.types.chat")
        pydantic = needs("pydantic")
        content = to_openai(parts)
        checker = pydantic.TypeAdapter(types.ChatCompletionUserMessageParam)
        checked = checker.validate_python({"role": "user", "content": content})["content"]
        assert (checked if isinstance(checked, str) else list(checked)) == content

    def test_transformers_gets_pil_images(self) -> None:
        text, image = to_transformers([TextPart("see "), A])
        assert text == {"type": "text", "text": "see "}
        assert (image["type"], image["image"].tobytes()) == ("image", picture().tobytes())

    @pytest.mark.slow
    def test_a_processor_of_transformers_accepts_the_content(self, processor: Any) -> None:
        parts = content_parts({"text": "what is <image> ? and <image> ?", "images": [A, B]})
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": to_transformers(parts)}],
            tokenize=True,
            return_dict=True,
            return_tensors="np",
        )
        words = processor.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
        per_image = ["<|picture|>"] * 4  # 28 pixels in patches of 14, squared
        assert words == ["user", "what", "is", *per_image, "?", "and", *per_image, "?"]
        assert inputs["pixel_values"].shape == (2, 3, 28, 28)


@pytest.fixture(scope="module")
def processor() -> Any:
    """A real processor of transformers, with a few words and a mark for images of its own."""
    transformers = needs("transformers")
    tokenizers = needs("tokenizers")
    clip = pytest.importorskip("transformers.models.clip.image_processing_pil_clip")
    words = ["<unk>", "<|picture|>", "user", "assistant", "what", "is", "?", "and"]
    vocabulary = {word: number for number, word in enumerate(words)}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    mark = words[1]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=model, unk_token=words[0], additional_special_tokens=[mark]
    )
    tokenizer.image_token = mark
    size = {"height": 28, "width": 28}
    return transformers.LlavaProcessor(
        image_processor=clip.CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size=size),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        image_token=mark,
        chat_template=(
            "{% for message in messages %}{{ message.role }} {% for part in message.content %}"
            "{{ '<|picture|>' if part.type == 'image' else part.text }}{% endfor %} {% endfor %}"
            "{% if add_generation_prompt %}assistant{% endif %}"
        ),
    )


class Slides(BaseEnv):
    """Shows a fixed list of observations."""

    def __init__(self, *shown: Observation) -> None:
        self.shown = shown

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return self.shown[0], {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step(self.shown[self.turn], 0.0, False, False, {})


class Lens(BaseTool):
    """Answers every action with a placeholder in its text."""

    name = "lens"

    def instructions(self) -> str:
        return "Look closely."

    def parse(self, action: Action) -> ToolCall | None:
        return ToolCall("lens", {}, action) if action == "look" else None

    def run(self, call: ToolCall) -> ToolResult:
        return ToolResult("an <image> tag")


def played(env: Any, *actions: str) -> list[Observation]:
    return [env.reset(seed=0)[0], *(env.step(action).observation for action in actions)]


class TestWrappers:
    SLIDES = (
        {"text": "one", "images": [A]},
        "two",
        {"text": "is <image> <image>", "images": [B, C]},
    )

    def test_the_history_has_the_images_of_all_turns_in_their_places(self) -> None:
        env = HistoryWrapper(Slides(*self.SLIDES), include_action=True)
        assert played(env, "a", "b") == [
            {"text": "<image>one\n", "images": [A]},
            {"text": "<image>one\na\ntwo\n", "images": [A]},
            {"text": "<image>one\na\ntwo\nb\nis <image> <image>\n", "images": [A, B, C]},
        ]

    def test_images_leave_with_their_turn(self) -> None:
        env = HistoryWrapper(Slides(*self.SLIDES), include_action=True, max_history_length=1)
        assert played(env, "a", "b")[-1] == {
            "text": "two\nb\nis <image> <image>\n",
            "images": [B, C],
        }

    def test_placeholders_that_an_agent_or_a_tool_writes_move_no_image(self) -> None:
        env = ToolWrapper(Slides(*self.SLIDES), tools=[Lens()])
        env = HistoryWrapper(env, include_action=True)
        *_, last = played(env, "look", "<image>", "<image>")
        assert content_parts(last) == [
            A,
            TextPart("one\nLook closely.\nlook\nan [image] tag\n[image]\ntwo\n[image]\nis "),
            B,
            TextPart(" "),
            C,
            TextPart("\n"),
        ]

    def test_placeholders_from_before_the_first_image_move_no_image(self) -> None:
        slides = ("an <image> tag", "two", {"text": "see", "images": [A]})
        env = HistoryWrapper(Slides(*slides), include_action=True)
        first, second, third = played(env, "<image>", "b")
        assert (first, second) == ("an <image> tag\n", "an <image> tag\n<image>\ntwo\n")
        assert content_parts(third) == [
            TextPart("an [image] tag\n[image]\ntwo\nb\n"),
            A,
            TextPart("see\n"),
        ]

    def test_a_fork_of_a_history_keeps_the_images(self) -> None:
        env = HistoryWrapper(Slides(*self.SLIDES), include_action=True)
        env.reset()
        env.step("a")
        fork = env.fork()
        assert fork.step("b") == env.step("b")

    @pytest.mark.slow
    def test_a_history_rendered_by_a_tokenizer_has_its_images_in_place(self) -> None:
        transformers = needs("transformers")
        tokenizers = needs("tokenizers")
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, "a"))
        )
        tokenizer.chat_template = (
            "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
        )
        env = HistoryWrapper(
            Slides(*self.SLIDES),
            include_action=True,
            chat_template="every_turn",
            tokenizer=tokenizer,
        )
        assert content_parts(played(env, "a", "b")[-1]) == [
            TextPart("<user>"),
            A,
            TextPart("one<assistant>a<user>two<assistant>b<user>is "),
            B,
            TextPart(" "),
            C,
        ]

    @pytest.mark.slow
    def test_a_history_rendered_by_a_processor_can_be_its_input(self, processor: Any) -> None:
        env = HistoryWrapper(
            Slides({"text": "what is", "images": [A]}, {"text": "and", "images": [B]}),
            include_action=True,
            chat_template="every_turn",
            tokenizer=processor,
        )
        last = played(env, "<image>")[-1]
        assert last == {
            "text": "user <|picture|>what is assistant [image] user <|picture|>and assistant",
            "images": [A, B],
        }
        inputs = processor(
            text=last["text"],
            images=[image.open() for image in images_of(last)],
            return_tensors="np",
        )
        assert inputs["pixel_values"].shape[0] == 2

    @pytest.mark.slow
    def test_a_chat_that_opens_on_reset_goes_on_with_images(self, processor: Any) -> None:
        env = HistoryWrapper(
            Slides({"text": "what", "images": [A]}, "and"),
            include_action=True,
            chat_template="on_reset",
            tokenizer=processor,
        )
        assert played(env, "a")[-1] == {
            "text": "user <|picture|>what assistant\na\nand\n",
            "images": [A],
        }


class Noise(BaseEnv):
    """Shows an image that cannot be compressed."""

    def start(self) -> tuple[Observation, Info]:
        image = Image.of(PIL.Image.effect_noise((64, 64), 9))
        return {"text": "What is it?", "images": [image]}, {}

    def step(self, action: Action) -> Step:
        return Step("Noise.", 0.0, True, False, {})

    def sample_random_action(self) -> Action:
        return "noise"


class TestCommands:
    @pytest.mark.slow
    def test_a_command_prints_the_size_of_an_image(self, monkeypatch: pytest.MonkeyPatch) -> None:
        registry = load_plugins().registry
        specs = {kind: dict(specs) for kind, specs in registry._specs.items()}
        monkeypatch.setattr(registry, "_specs", specs)
        register("test:Noise-v0", Noise)
        for command in ("play", "show"):
            done = gem(command, "test:Noise-v0", stdin="noise\n")
            assert done.returncode == 0, done.stderr
            assert "What is it?" in done.stdout
            assert re.search(r"Image\(image/png, [\d,]+ bytes\)", done.stdout)
            assert len(done.stdout) < 3000


class TestTrajectories:
    def test_images_in_a_trajectory_file_can_be_read_again(self, tmp_path: Path) -> None:
        seen = {"problem": "<image>?", "images": [A, B]}
        turn = Turn("agent", seen, "yes", 1.0, True, False, {"drawn": C})
        path = tmp_path / "trajectories.jsonl"
        with TrajectoryFile(path) as file:
            file.append(Trajectory("test:Env-v0", "agent", 0, 7, [turn]))
        (read,) = read_trajectories(path)
        (again,) = read.turns
        assert content_parts(again.observation) == content_parts(seen)
        assert Image.of(again.info["drawn"]) == C

    def test_a_class_in_an_info_is_written_by_its_name(self, tmp_path: Path) -> None:
        turn = Turn("agent", "", "", 1.0, True, False, {"class": Image})
        with TrajectoryFile(tmp_path / "t.jsonl") as file:
            file.append(Trajectory("test:Env-v0", "agent", 0, 7, [turn]))
        (read,) = read_trajectories(tmp_path / "t.jsonl")
        assert read.turns[0].info == {"class": "<class 'gem_core.content.Image'>"}
