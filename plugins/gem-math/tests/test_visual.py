"""Problems with figures: observations, files and datasets of images, wrappers, conformance."""

from pathlib import Path
from typing import Any

import PIL.Image
import PIL.ImageDraw
import pytest
from needs import needs

import gem_core
from gem_core.content import Image
from gem_core.errors import ContentError, DataError
from gem_core.testing import check_env
from gem_math.visual import MathVisualEnv
from gem_rollout import TrajectoryFile, collect, read_trajectories
from gem_rollout.tokens.chat_content import TextPart, content_parts, to_openai
from gem_tasks.env import GoldOracle


def figure(sides: int) -> PIL.Image.Image:
    """Draw a regular polygon."""
    drawn = PIL.Image.new("RGB", (48, 48), "white")
    PIL.ImageDraw.Draw(drawn).regular_polygon((24, 24, 20), sides, outline="black")
    return drawn


ROWS = [
    {"problem": "How many sides? <image>", "images": [figure(n)], "answer": str(n)}
    for n in range(3, 11)
]


class TestObservations:
    def test_an_observation_is_text_with_images(self) -> None:
        observation, info = MathVisualEnv(data=ROWS, shuffle=False).reset()
        image = Image.of(figure(3))
        assert observation == {"problem": "How many sides? <image>", "images": [image]}
        assert content_parts(observation, info) == [TextPart("How many sides? "), image]

    def test_an_epoch_shows_every_row_once(self) -> None:
        env = MathVisualEnv(data=ROWS)
        seen = [env.reset(seed=5)[0], *(env.reset()[0] for _ in ROWS[1:])]
        pixels = {observation["images"][0].open().tobytes() for observation in seen}
        assert len(pixels) == len(ROWS)

    def test_answers_are_graded_like_those_of_text_problems(self) -> None:
        env = MathVisualEnv(data=ROWS, use_format_error_reward=True)
        env.reset(idx=1)
        step = env.fork().step(r"\boxed{4}")
        assert (step.reward, step.observation, step.info["correct"]) == (1.0, "Correct.", True)
        assert env.step("four").reward == -0.1

    def test_the_prompt_is_put_around_the_text(self) -> None:
        env = MathVisualEnv(data=ROWS, shuffle=False, prompt=r"{problem} Write \boxed{}.")
        assert env.reset()[0]["problem"] == r"How many sides? <image> Write \boxed{}."

    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_a_problem_has_any_number_of_images(self, count: int) -> None:
        row = {"problem": "?", "pictures": [figure(3)] * count, "answer": 1}
        env = MathVisualEnv(data=[row], image_key="pictures")
        assert env.reset()[0]["images"] == [Image.of(figure(3))] * count

    @pytest.mark.parametrize("value", [figure(3), Image.of(figure(3)), Image.of(figure(3)).data])
    def test_one_image_needs_no_list(self, value: Any) -> None:
        env = MathVisualEnv(data=[{"problem": "?", "images": value, "answer": 1}])
        assert env.reset()[0]["images"] == [Image.of(figure(3))]

    def test_a_value_that_is_not_an_image_is_an_error(self) -> None:
        env = MathVisualEnv(data=[{"problem": "?", "images": [b"text"], "answer": 1}])
        with pytest.raises(ContentError, match="4 bytes"):
            env.reset()

    def test_a_missing_column_of_images_is_an_error(self) -> None:
        with pytest.raises(DataError, match="'images'"):
            MathVisualEnv(data=[{"problem": "?", "answer": 1}])


class TestForks:
    def test_a_fork_continues_with_the_same_figure(self) -> None:
        env = MathVisualEnv(data=ROWS)
        env.reset(seed=1)
        fork = env.fork()
        assert type(fork) is MathVisualEnv
        assert fork.step(fork.solution()) == env.step(env.solution())
        assert fork.reset() == env.reset()

    @pytest.mark.slow
    def test_images_reach_the_caller_from_other_processes(self) -> None:
        seen = []
        for executor in ("serial", "processes"):
            with gem_core.make_vec(
                "math:Custom-Visual", num_envs=2, executor=executor, seed=3, data=ROWS
            ) as envs:
                seen.append(envs.reset()[0])
        assert seen[0] == seen[1]
        assert all(isinstance(one["images"][0], Image) for one in seen[0])


class TestComposition:
    def test_wrappers_pass_images_on(self) -> None:
        env = gem_core.make(
            "math:Custom-Visual", data=ROWS, shuffle=False, wrappers=["concat_with_action"]
        )
        env.reset()
        observation = env.step(r"\boxed{4}").observation
        assert [type(part).__name__ for part in content_parts(observation)] == [
            "TextPart",
            "Image",
            "TextPart",
        ]
        assert observation["problem"] == (
            "How many sides? <image>\n\\boxed{4}\nWrong. The answer is 3.\n"
        )

    def test_trajectories_are_written_with_their_images(self, tmp_path: Path) -> None:
        path = tmp_path / "trajectories.jsonl"
        with TrajectoryFile(path) as file:
            for trajectory in collect(
                lambda: gem_core.make("math:Custom-Visual", data=ROWS), GoldOracle, episodes=3
            ):
                file.append(trajectory)
        for trajectory in read_trajectories(path):
            assert trajectory.success
            observation = trajectory.turns[0].observation
            image = Image.of(observation["images"][0])
            assert image in [Image.of(row["images"][0]) for row in ROWS]
            message = to_openai(content_parts(observation))
            assert message[1] == {"type": "image_url", "image_url": {"url": image.data_url}}


@pytest.fixture(scope="module")
def dataset() -> Any:
    datasets = needs("datasets")
    datasets.disable_progress_bars()
    features = datasets.Features(
        {
            "problem": datasets.Value("string"),
            "images": datasets.List(datasets.Image()),
            "answer": datasets.Value("string"),
        }
    )
    return datasets.Dataset.from_list(ROWS, features=features)


class TestDatasets:
    def test_a_dataset_with_an_image_feature_gives_its_figures(self, dataset: Any) -> None:
        env = MathVisualEnv(data=dataset, shuffle=False)
        pixels = [env.reset()[0]["images"][0].open().tobytes() for _ in ROWS]
        assert pixels == [figure(n).tobytes() for n in range(3, 11)]
        assert env.step(env.solution()).reward == 1.0

    @pytest.mark.slow
    def test_a_parquet_file_keeps_the_bytes_of_the_images(
        self, dataset: Any, tmp_path: Path
    ) -> None:
        path = tmp_path / "rows.parquet"
        dataset.to_parquet(path)
        stored = dataset.with_format("arrow")[0]["images"][0].as_py()[0]["bytes"]
        for streaming in (False, True):
            env = MathVisualEnv(data=str(path), shuffle=False, streaming=streaming)
            assert env.reset()[0]["images"] == [Image(stored, "image/png")]


@pytest.mark.slow
def test_an_environment_of_figures_passes_the_conformance_checks() -> None:
    spec = gem_core.spec("math:Custom-Visual").with_kwargs(data=ROWS)
    check_env(spec, episodes=10).raise_for_findings()
