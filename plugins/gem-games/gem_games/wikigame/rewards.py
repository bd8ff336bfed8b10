"""The rewards of WikiGame."""

__all__ = ["WikiGameReward"]


class WikiGameReward:
    """The rewards of WikiGame."""

    success_reward = 1.0
    """The target is reached."""
    internal_step_reward = -0.05
    """A valid move; an automatic return from a dead end is a second one."""
    fail_reward = 0.0
    """A valid move that uses up the turns, or that ends in a dead end."""
    invalid_action_reward = -0.2
    """A box that names none of the links, or a step back that is not allowed."""
    format_error_reward = -0.2
    """No box, or an empty one."""
