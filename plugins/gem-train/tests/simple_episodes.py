"""Trajectories without a model, for tests of metrics and curricula."""

from gem_core.agent import Generation
from gem_rollout import Trajectory, Turn


def trajectory(
    *,
    success=None,
    rewards=(1.0,),
    tokens=(),
    truncated=False,
    error=None,
    component="",
    env_id="game:X-v0",
    infos=(),
    cut=(),
):
    """One episode with a turn for each reward."""
    turns = []
    for number, reward in enumerate(rewards):
        is_last = number == len(rewards) - 1
        generation = None
        if number < len(tokens):
            reason = "length" if number in cut else "stop"
            generation = Generation(token_ids=[1] * tokens[number], finish_reason=reason)
        info = dict(infos[number]) if number < len(infos) else {}
        ended = is_last and not truncated
        turns.append(
            Turn("policy", "", "", reward, ended, is_last and truncated, info, 0, 0, generation)
        )
    made = Trajectory(env_id, "policy", 0, 0, turns, success=success, component=component)
    if error:
        made.error = {"boundary": error, "type": "Broken", "message": "", "traceback": ""}
    return made
