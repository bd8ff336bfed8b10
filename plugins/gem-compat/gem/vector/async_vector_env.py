"""A vector whose environments step in threads."""

from typing import Any

from gem.vector.vector_env import AutoresetMode, VectorEnv

__all__ = ["AsyncVectorEnv", "step_reset_env"]


class AsyncVectorEnv(VectorEnv):
    """Steps and resets environments in threads; see ``VectorEnv``."""

    executor = "threads"


def step_reset_env(
    action: Any,
    env: Any,
    autoreset_mode: AutoresetMode | str,
    autoreset_env: bool,
) -> Any:
    """Step one environment, or reset it if its episode has ended.

    Args:
        action: The action.
        env: The environment.
        autoreset_mode: When the next episode starts after the end of one.
        autoreset_env: Whether the environment's episode had ended before this step.

    Returns:
        Observation, reward, terminated, truncated and info.
    """
    mode = AutoresetMode(autoreset_mode)
    if mode is AutoresetMode.NEXT_STEP and autoreset_env:
        observation, info = env.reset()
        return observation, 0.0, False, False, info
    observation, reward, terminated, truncated, info = env.step(action)
    if mode is AutoresetMode.SAME_STEP and (terminated or truncated):
        final = {"final_obs": observation, "final_info": info}
        observation, info = env.reset()
        info = {**info, **final}
    return observation, reward, terminated, truncated, info
