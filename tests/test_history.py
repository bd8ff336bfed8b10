"""The history wrapper: what an agent is shown, as text and as chat messages."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

import gem_core
from gem_core import Action, BaseEnv, Info, Observation, Step, visible_text
from gem_core.content import place_images
from gem_core.errors import ConfigError
from gem_core.wrappers import HistoryWrapper

EXAMPLES = settings(max_examples=300 if thorough() else 25)
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "<|{{ message.role }}|>{{ message.content }}<|end|>"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEXT = st.text(alphabet="ab \n", max_size=6) | st.just("<image>")
PIXEL = b"a picture"


class Script(BaseEnv):
    """Shows a fixed list of observations and infos."""

    def __init__(self, *shown: tuple[Observation, Info]) -> None:
        self.shown = shown

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return self.shown[0]

    def step(self, action: Action) -> Step:
        self.turn += 1
        observation, info = self.shown[self.turn]
        return Step(observation, 0.0, False, False, info)


class Turn(NamedTuple):
    """An action and what follows it; the first one is a reset."""

    action: str
    text: str
    images: int
    info: dict[str, str]

    def shown(self) -> tuple[Observation, Info]:
        images = [PIXEL] * self.images
        return ({"text": self.text, "images": images} if images else self.text), self.info


AROUND = st.fixed_dictionaries({}, optional={"prefix": TEXT, "suffix": TEXT})
TURN = st.builds(Turn, TEXT, TEXT, st.sampled_from([0, 0, 0, 1, 2]), AROUND)


def history_of(turns: list[Turn], length: int | None, *, include_action: bool) -> Observation:
    """Return what the wrapper shows after some turns, computed from all of them."""
    texts = [(turn.text, turn.images) for turn in turns]
    if include_action:
        pairs = [[(turn.action, 0), text] for turn, text in zip(turns, texts, strict=True)]
        texts = [one for pair in pairs for one in pair][1:]
    if length is not None:
        texts = texts[-length * (1 + include_action) - 1 :]
    has_images = any(turn.images for turn in turns)
    placed = [place_images(text, count) if has_images else text for text, count in texts]
    lines = "".join(text + "\n" if text and text[-1] != "\n" else text for text in placed)
    info = {"prefix": "", "suffix": ""} | turns[0].info | {"suffix": ""} | turns[-1].info
    text = f"{info['prefix']}{lines}{info['suffix']}"
    images = [PIXEL] * sum(count for _, count in texts)
    return {"text": text, "images": images} if has_images else text


def script(*observations: Observation, **info: Any) -> Script:
    return Script(*((observation, info) for observation in observations))


def shown(env: Any, actions: list[str]) -> list[Observation]:
    return [env.reset(seed=1)[0], *(env.step(action).observation for action in actions)]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A real tokenizer of transformers, of five words, with a chat template."""
    transformers = needs("transformers")
    tokenizers = needs("tokenizers")
    words = {"<|user|>": 0, "<|assistant|>": 1, "<|tool|>": 2, "<|end|>": 3, "go": 4}
    model = tokenizers.models.WordLevel(words, "go")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(model))
    fast.chat_template = CHAT_TEMPLATE
    return fast


class TestText:
    def test_concat_shows_every_observation_on_a_line_of_its_own(self) -> None:
        env = HistoryWrapper(script("one", "two\n", "", "four"))
        assert shown(env, ["a", "b", "c"]) == [
            "one\n",
            "one\ntwo\n",
            "one\ntwo\n",
            "one\ntwo\nfour\n",
        ]

    def test_concat_with_action_shows_observations_and_actions_in_turn(self) -> None:
        env = HistoryWrapper(script("one", "two", "three"), include_action=True)
        assert shown(env, ["a", "b\n"])[-1] == "one\na\ntwo\nb\nthree\n"

    @pytest.mark.slow
    @EXAMPLES
    @given(
        turns=st.lists(TURN, min_size=1, max_size=12),
        length=st.none() | st.integers(0, 3),
        include_action=st.booleans(),
    )
    def test_every_observation_is_the_sum_of_the_lines_so_far(
        self, *, turns: list[Turn], length: int | None, include_action: bool
    ) -> None:
        env = HistoryWrapper(
            Script(*(turn.shown() for turn in turns)),
            include_action=include_action,
            max_history_length=length,
        )
        found = shown(env, [turn.action for turn in turns[1:]])
        for count, observation in enumerate(found, start=1):
            assert observation == history_of(turns[:count], length, include_action=include_action)

    def test_a_parsed_action_stands_for_the_action(self) -> None:
        env = HistoryWrapper(
            Script(("one", {}), ("two", {"parsed_action": "call"})), include_action=True
        )
        assert shown(env, ["call and then some"])[-1] == "one\ncall\ntwo\n"

    def test_the_prefix_of_reset_stays_and_a_suffix_does_not(self) -> None:
        env = HistoryWrapper(
            Script(
                ("one", {"prefix": "P1 ", "suffix": "S1"}),
                ("two", {"suffix": "S2"}),
                ("three", {"prefix": "P3 "}),
            )
        )
        assert shown(env, ["a", "b"]) == ["P1 one\nS1", "P1 one\ntwo\nS2", "P3 one\ntwo\nthree\n"]

    def test_info_is_passed_through(self) -> None:
        info = {"suffix": "S", "other": [1]}
        env = HistoryWrapper(Script(("one", info), ("two", info)))
        assert env.reset()[1] == info
        assert env.step("a").info == info

    def test_what_is_shown_has_its_suffix_once_for_agents_that_add_it(self) -> None:
        env = HistoryWrapper(script("one", "two", prefix="P ", suffix="S"))
        observation, info = env.reset()
        assert visible_text(observation, info) == observation == "P one\nS"

    def test_a_reset_empties_the_history(self) -> None:
        env = HistoryWrapper(script("one", "two"), include_action=True)
        assert shown(env, ["a"]) == shown(env, ["a"])

    def test_a_fork_remembers_and_goes_its_own_way(self) -> None:
        env = HistoryWrapper(script("one", "two", "three"), include_action=True)
        env.reset()
        env.step("a")
        fork = env.fork()
        assert env.step("mine").observation == "one\na\ntwo\nmine\nthree\n"
        assert fork.step("its").observation == "one\na\ntwo\nits\nthree\n"
        restored = HistoryWrapper(script("one", "two", "three"), include_action=True)
        restored.restore(fork.snapshot())
        assert restored._text == "one\na\ntwo\nits\nthree\n"

    def test_a_real_game_shows_rules_guesses_hints_and_what_to_do_next(self) -> None:
        env = gem_core.make("game:GuessTheNumber-v0-easy", wrappers=["concat_with_action"])
        rules, info = env.reset(seed=1)
        assert rules.endswith(info["suffix"])
        step = env.step("\\boxed{99}")
        assert step.observation.startswith(rules.removesuffix(info["suffix"]) + "\\boxed{99}\n")
        assert step.observation.endswith("\n" + step.info["suffix"])
        assert step.observation.count(info["suffix"]) == 1


class TestLength:
    @pytest.mark.parametrize(
        ("length", "expected"),
        [
            (None, "1\na\n2\nb\n3\nc\n4\n"),
            (9, "1\na\n2\nb\n3\nc\n4\n"),
            (2, "2\nb\n3\nc\n4\n"),
            (1, "3\nc\n4\n"),
            (0, "4\n"),
        ],
    )
    def test_only_the_last_turns_are_kept(self, length: int | None, expected: str) -> None:
        env = HistoryWrapper(
            script("1", "2", "3", "4"), include_action=True, max_history_length=length
        )
        assert shown(env, ["a", "b", "c"])[-1] == expected

    def test_without_actions_only_the_last_observations_are_kept(self) -> None:
        env = HistoryWrapper(script("1", "2", "3", "4"), max_history_length=1)
        assert shown(env, ["a", "b", "c"]) == ["1\n", "1\n2\n", "2\n3\n", "3\n4\n"]

    def test_each_text_is_read_once_however_long_the_episode(self) -> None:
        reads = 0

        class Counted(str):
            __slots__ = ()

            def endswith(self, *args: Any) -> bool:
                nonlocal reads
                reads += 1
                return super().endswith(*args)

        env = HistoryWrapper(script(*(Counted("text") for _ in range(201))))
        shown(env, ["a"] * 200)
        assert reads == 201


class TestChat:
    @pytest.mark.slow
    def test_every_turn_renders_the_history_as_messages(self, tokenizer: Any) -> None:
        env = HistoryWrapper(
            Script(("one", {}), ("output", {"use_tool": True}), ("three", {})),
            include_action=True,
            chat_template="every_turn",
            tokenizer=tokenizer,
        )
        assert shown(env, ["call", "answer"]) == [
            "<|user|>one<|end|><|assistant|>",
            "<|user|>one<|end|><|assistant|>call<|end|><|tool|>output<|end|><|assistant|>",
            (
                "<|user|>one<|end|><|assistant|>call<|end|><|tool|>output<|end|>"
                "<|assistant|>answer<|end|><|user|>three<|end|><|assistant|>"
            ),
        ]

    @pytest.mark.slow
    def test_on_reset_opens_a_chat_and_appends_text(self, tokenizer: Any) -> None:
        env = HistoryWrapper(
            script("one", "two", "three"),
            include_action=True,
            chat_template="on_reset",
            tokenizer=tokenizer,
        )
        opening = "<|user|>one<|end|><|assistant|>"
        for _ in range(2):
            assert shown(env, ["a", "b"]) == [
                opening,
                f"{opening}\na\ntwo\n",
                f"{opening}\na\ntwo\nb\nthree\n",
            ]

    def test_prefix_and_suffix_are_inside_the_first_and_last_message(self, tokenizer: Any) -> None:
        env = HistoryWrapper(
            script("one", "two", prefix="P ", suffix="S"),
            include_action=True,
            chat_template="every_turn",
            tokenizer=tokenizer,
        )
        assert shown(env, ["a"]) == [
            "<|user|>P one\nS<|end|><|assistant|>",
            "<|user|>P one<|end|><|assistant|>a<|end|><|user|>two\nS<|end|><|assistant|>",
        ]

    def test_the_switch_puts_them_around_the_rendered_chat(self, tokenizer: Any) -> None:
        env = HistoryWrapper(
            script("one", "two", prefix="P ", suffix="S"),
            include_action=True,
            chat_template="every_turn",
            suffix_in_message=False,
            tokenizer=tokenizer,
        )
        assert shown(env, ["a"])[0] == "P <|user|>one<|end|><|assistant|>S"

    def test_on_reset_has_the_suffix_inside_the_opening_message(self, tokenizer: Any) -> None:
        inside, outside = (
            HistoryWrapper(
                script("one", "two", suffix="S"),
                include_action=True,
                chat_template="on_reset",
                suffix_in_message=switch,
                tokenizer=tokenizer,
            )
            for switch in (True, False)
        )
        opening = "<|user|>one<|end|><|assistant|>\n"
        assert shown(inside, ["a"]) == [
            "<|user|>one\nS<|end|><|assistant|>",
            f"{opening}a\ntwo\nS",
        ]
        assert shown(outside, ["a"]) == [f"{opening[:-1]}S", f"{opening}a\ntwo\nS"]

    def test_a_short_history_is_a_shorter_chat(self, tokenizer: Any) -> None:
        env = HistoryWrapper(
            script("1", "2", "3"),
            include_action=True,
            chat_template="every_turn",
            max_history_length=1,
            tokenizer=tokenizer,
        )
        assert shown(env, ["a", "b"])[-1] == (
            "<|user|>2<|end|><|assistant|>b<|end|><|user|>3<|end|><|assistant|>"
        )

    def test_the_ids_in_make_are_the_four_layouts(self, tokenizer: Any) -> None:
        texts = {}
        for name in ("concat", "concat_with_action", "concat_chat", "concat_chat_on_reset"):
            options = {"tokenizer": tokenizer} if "chat" in name else {}
            env = gem_core.make("game:GuessTheNumber-v0-easy", wrappers=[{"id": name, **options}])
            env.reset(seed=1)
            texts[name] = env.step("I say \\boxed{99}").observation
        assert "I say" not in texts["concat"]
        assert "\nI say \\boxed{99}\n" in texts["concat_with_action"]
        assert "<|assistant|>I say \\boxed{99}<|end|><|user|>" in texts["concat_chat"]
        assert "<|assistant|>\nI say \\boxed{99}\n" in texts["concat_chat_on_reset"]

    def test_a_fork_shares_the_tokenizer_and_no_snapshot_holds_it(self, tokenizer: Any) -> None:
        env = HistoryWrapper(
            script("one", "two"),
            include_action=True,
            chat_template="every_turn",
            tokenizer=tokenizer,
        )
        env.reset()
        fork = env.fork()
        assert fork.tokenizer is tokenizer
        assert fork.step("a") == env.step("a")
        assert CHAT_TEMPLATE.encode() not in env.snapshot()

    @pytest.mark.slow
    def test_a_folder_is_loaded_as_a_tokenizer(self, tokenizer: Any, tmp_path: Path) -> None:
        tokenizer.save_pretrained(tmp_path)
        env = HistoryWrapper(
            script("one"),
            include_action=True,
            chat_template="every_turn",
            tokenizer=str(tmp_path),
        )
        assert env.reset()[0] == "<|user|>one<|end|><|assistant|>"


class TestDicts:
    @pytest.fixture
    def env(self) -> Any:
        observations = [
            {"image": b"first", "text": "one"},
            "two",
            {"image": b"third", "text": "three"},
        ]
        return HistoryWrapper(script(*observations), include_action=True)

    def test_the_text_becomes_the_history_and_the_latest_image_stays(self, env: Any) -> None:
        assert shown(env, ["a", "b"]) == [
            {"image": b"first", "text": "one\n"},
            {"image": b"first", "text": "one\na\ntwo\n"},
            {"image": b"third", "text": "one\na\ntwo\nb\nthree\n"},
        ]

    def test_keys_that_a_later_observation_lacks_are_kept_from_an_earlier_one(self) -> None:
        env = HistoryWrapper(
            script({"image": b"first", "text": "one"}, {"sound": b"second", "text": "two"})
        )
        assert shown(env, ["a"])[-1] == {
            "image": b"first",
            "sound": b"second",
            "text": "one\ntwo\n",
        }

    def test_what_the_environment_returned_is_not_changed(self, env: Any) -> None:
        shown(env, ["a", "b"])
        assert env.shown[0][0] == {"image": b"first", "text": "one"}

    def test_images_survive_a_fork_and_not_a_reset(self, env: Any) -> None:
        shown(env, ["a", "b"])
        assert env.fork()._beside["image"] == b"third"
        assert env.reset()[0]["image"] == b"first"

    def test_the_text_goes_into_the_chat(self, tokenizer: Any) -> None:
        env = HistoryWrapper(
            script({"text": "one", "image": 1}),
            include_action=True,
            chat_template="every_turn",
            tokenizer=tokenizer,
        )
        assert env.reset()[0] == {"text": "<|user|>one<|end|><|assistant|>", "image": 1}


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"chat_template": "sometimes"}, "'none', 'every_turn' or 'on_reset'; got 'sometimes'"),
            ({"chat_template": "every_turn", "include_action": True}, "needs a tokenizer"),
            ({"chat_template": "on_reset"}, "needs a tokenizer"),
            ({"chat_template": "every_turn", "tokenizer": object()}, "needs include_action=True"),
            ({"max_history_length": -1}, "0 or more; got -1"),
        ],
    )
    def test_what_cannot_work_is_refused(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            HistoryWrapper(script("one"), **options)

    @pytest.mark.parametrize("wrapper", ["concat_chat", "concat_chat_on_reset"])
    def test_chat_wrappers_ask_for_a_tokenizer(self, wrapper: str) -> None:
        with pytest.raises(ConfigError, match="needs a tokenizer"):
            gem_core.make("game:GuessTheNumber-v0-easy", wrappers=[wrapper])
