"""A script as users of gem-llm write them: it only knows ``import gem``.

It runs under an interpreter that has gem-compat and under one that has gem-llm. It takes one
measurement, and its last line is the result as JSON: figures by name.
"""

import json
import sys
import time
from collections.abc import Callable

SECONDS = 1.0
"""Minimum time for which a workload is repeated."""


def startup() -> dict[str, float]:
    """Import and make a game."""
    began = time.perf_counter()
    import gem

    gem.make("game:GuessTheNumber-v0-hard").reset()
    return {"seconds": time.perf_counter() - began, "modules": len(sys.modules)}


def loop(env_id: str) -> dict[str, float]:
    """Play random actions, as the first example of gem-llm's page does."""
    import gem

    env = gem.make(env_id)

    def episode() -> int:
        env.reset()
        steps = 0
        while True:
            *_, terminated, truncated, _ = env.step(env.sample_random_action())
            steps += 1
            if terminated or truncated:
                return steps

    return {"per_second": _rate(episode)}


def history(names: str) -> dict[str, float]:
    """Play episodes of 50 turns under wrappers."""
    import gem
    from gem.wrappers.wrapper_factory import get_wrapper_fns

    env = gem.make("game:GuessTheNumber-v0-hard", max_turns=50)
    for wrapper in get_wrapper_fns(names):
        env = wrapper(env)

    def episode() -> int:
        env.reset()
        for _ in range(50):
            env.step(r"I think that it is \boxed{99}.")
        return 50

    return {"per_second": _rate(episode)}


def vector(mode: str) -> dict[str, float]:
    """Step 64 environments, in one thread or in several."""
    import gem

    envs = gem.make_vec(["game:Mastermind-v0-hard"] * 64, async_mode=mode == "threads")
    envs.reset()
    actions = [r"\boxed{1 2 3 4}"] * 64

    def step() -> int:
        envs.step(actions)
        return 64

    return {"per_second": _rate(step)}


def seeds(env_id: str) -> dict[str, float]:
    """Make eight environments twice with one seed, and count those that begin alike."""
    import gem

    firsts = []
    for _ in range(2):
        envs = gem.make_vec([env_id] * 8, seed=7).envs
        firsts.append([repr(env.room_state) for env in envs])
    return {"alike": float(sum(one == other for one, other in zip(*firsts, strict=True)))}


def tool(code: str) -> dict[str, float]:
    """Run programs with the Python tool."""
    from gem.tools.python_code_tool import PythonCodeTool

    python = PythonCodeTool(timeout=5)
    action = f"```python\n{code}\n```"

    def run() -> int:
        valid, failed, *_ = python.execute_action(action)
        if failed or not valid:
            raise SystemExit("The program failed.")
        return 1

    run()
    return {"per_second": _rate(run)}


def grading(pair: str) -> dict[str, float]:
    """Grade one answer again and again."""
    from gem.envs.math_env import MathEnv

    answer, gold = pair.split("~")

    def grade() -> int:
        MathEnv.check_correct(rf"So it is \boxed{{{answer}}}.", gold)
        return 1

    grade()
    return {"per_second": _rate(grade)}


def _rate(work: Callable[[], int]) -> float:
    work()
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < SECONDS:
        count += work()
    return count / spent


def main() -> None:
    """Take the measurement that the command line names."""
    measure, *arguments = sys.argv[1:]
    print(json.dumps(globals()[measure](*arguments)))
