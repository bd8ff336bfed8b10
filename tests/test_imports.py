"""What importing gem-core costs and leaves alone."""

from collections.abc import Callable

import pytest

HEAVY = [
    "asyncio",
    "click",
    "cloudpickle",
    "datasets",
    "hydra",
    "numpy",
    "omegaconf",
    "orjson",
    "pydantic",
    "rich",
    "torch",
    "transformers",
    "typer",
]
PLAY = """
import gem_core
env = gem_core.make(
    "game:GuessTheNumber-v0-easy", tools=[], wrappers=["concat", "time_limit", "episode_tracking"]
)
env.reset(seed=1)
env.step(env.sample_random_action())
env.fork()
"""


@pytest.mark.parametrize(
    "code",
    [
        "import gem_core",
        "import gem_core; gem_core.make('game:GuessTheNumber-v0-easy')",
        "import gem_core; gem_core.list_envs()",
        PLAY,
    ],
)
def test_nothing_heavy_is_imported_to_play(code: str, run_python: Callable[..., str]) -> None:
    ask = f"\nimport sys; print([name for name in {HEAVY} if name in sys.modules])"
    assert run_python(code + ask).strip() == "[]"


def test_the_bare_import_reads_no_other_module_of_the_package(
    run_python: Callable[..., str],
) -> None:
    code = "import gem_core, sys; print(sorted(name for name in sys.modules if 'gem_' in name))"
    assert run_python(code).strip() == "['gem_core', 'gem_core.lazy']"


def test_logging_is_left_to_the_program(run_python: Callable[..., str]) -> None:
    code = """
import logging
before = (logging.root.level, list(logging.root.handlers), logging.root.disabled)
import gem_core
gem_core.make("game:GuessTheNumber-v0-easy").reset(seed=1)
assert before == (logging.root.level, list(logging.root.handlers), logging.root.disabled)
logger = logging.getLogger("gem_core")
print(logger.level, logger.propagate, [type(handler).__name__ for handler in logger.handlers])
"""
    level, propagate, *handlers = run_python(code).split()
    assert (level, propagate) == ("0", "True")
    assert handlers in (["[]"], ["['NullHandler']"])


def test_the_global_generators_are_left_alone(run_python: Callable[..., str]) -> None:
    code = f"""
import random
random.seed(0)
before = random.getstate()
{PLAY}
print(random.getstate() == before)
"""
    assert run_python(code).strip() == "True"


def test_nothing_is_printed(run_python: Callable[..., str]) -> None:
    assert run_python(PLAY) == ""
