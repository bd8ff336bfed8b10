"""The data of tinker-cookbook as rows."""

from typing import Any

from tinker_cookbook.rl.data_processing import trajectory_to_data

from gem_rollout.records.rows import Row

__all__ = ["rows_of_data"]


def rows_of_data(trajectory: Any) -> list[Row]:
    """Return the rows that tinker-cookbook trains on for an episode.

    Args:
        trajectory: A ``Trajectory`` of tinker-cookbook, played by ``GemEnv``.
    """
    numbered = list(enumerate(trajectory.transitions))
    rows = []
    for datum in trajectory_to_data(trajectory, 1.0):
        inputs = datum.loss_fn_inputs
        ids = [*datum.model_input.to_ints(), int(inputs["target_tokens"].data[-1])]
        mask = [False, *map(bool, inputs["mask"].data)]
        logprobs = [0.0, *inputs["logprobs"].data]
        first = numbered[0][1].ob.length
        row = Row(ids[:first], ids[first:], mask[first:], logprobs[first:])
        row.token_rewards = [0.0] * len(row.response_ids)
        end = -1
        while end != len(row.response_ids):
            number, transition = numbered.pop(0)
            start = transition.ob.length - first
            end = start + len(transition.ac.tokens)
            row.turns.append(number)
            row.spans.append((start, end))
            row.turn_rewards.append(transition.reward)
            row.token_rewards[end - 1] = transition.reward
        row.terminated = trajectory.stop_reason == "completed"
        row.truncated = trajectory.stop_reason in {"max_tokens", "max_turns"}
        logs = trajectory.transitions[-1].logs
        row.group = row.index = logs["index"]
        row.sample = logs["sample"]
        rows.append(row)
    return rows
