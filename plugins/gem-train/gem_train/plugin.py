"""The plugin: registers commands, and what a run is made of. This module does not import torch."""

from gem_core import CheckSpec, CommandSpec, KindSpec, hookimpl
from gem_core.registry import Registry
from gem_train.specs import (
    AlgorithmSpec,
    CurriculumSpec,
    EpisodeFilterSpec,
    LossSpec,
    MetricWriterSpec,
    RewardShaperSpec,
)

__all__ = ["gem_register"]

COMMANDS = {
    "train": ("train_command:command", "Train a model on environments"),
    "make-model": ("make_model:command", "Make a tiny model with random weights"),
}
KINDS = {
    "algorithms": ("AlgorithmSpec", "algo", False, "advantages of turns or tokens"),
    "losses": ("LossSpec", "loss", False, "losses of tokens"),
    "curricula": ("CurriculumSpec", "curriculum", False, "shares of environments in a mixture"),
    "filters": ("EpisodeFilterSpec", "filters", True, "which groups of episodes are learned from"),
    "shapers": ("RewardShaperSpec", "shapers", True, "changes of the rewards to learn from"),
    "writers": ("MetricWriterSpec", "", False, "where metrics are written"),
}
"""The class of each kind, its group of Hydra, whether that takes a list, and a description."""
ALGORITHMS = {
    "reinforce": ("reinforce:REINFORCE", "discounted returns"),
    "rebn": ("rebn:REBN", "discounted returns, standardised over the batch"),
    "grpo": ("grpo:GRPO", "returns of episodes, standardised in their group"),
    "drgrpo": ("grpo:DrGRPO", "returns of episodes, less the mean of their group"),
    "rloo": ("grpo:RLOO", "returns of episodes, less the mean of the others in their group"),
    "episode_reinforce": ("grpo:EpisodeREINFORCE", "returns of episodes"),
    "ppo": ("ppo:PPO", "generalised advantage estimation with a critic"),
}
LOSSES = {
    "clip": ("Clip", "ratios to the old policy, clipped"),
    "reinforce": ("Reinforce", "log-probabilities, for one update of a batch"),
}
CURRICULA = {
    "fixed": ("Fixed", "constant shares"),
    "levels": ("Levels", "one level after the other"),
    "learning_progress": ("LearningProgress", "larger shares where success changes"),
}
FILTERS = {
    "dynamic_sampling": ("DynamicSampling", "leaves out groups of equal results (DAPO)"),
}
SHAPERS = {
    "overlong": ("Overlong", "a penalty for responses near a limit of length (DAPO)"),
    "kl": ("KLPenalty", "a penalty for the distance to the initial model"),
}
WRITERS = {
    "csv": ("csv_file:CsvWriter", "", "metrics.csv in the run's folder"),
    "tensorboard": ("tensorboard:TensorBoardWriter", "tensorboard", "event files of TensorBoard"),
    "wandb": ("services:WandbWriter", "wandb", "a run of Weights & Biases"),
    "trackio": ("services:TrackioWriter", "trackio", "a run of trackio"),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands, the kinds with their checks, and what there is of each kind."""
    for name, (place, text) in COMMANDS.items():
        registry.add(CommandSpec(id=name, entry_point=f"gem_train.{place}", description=text))
    for name, (place, group, several, text) in KINDS.items():
        registry.add(
            KindSpec(
                id=name,
                entry_point=f"gem_train.specs:{place}",
                group=group,
                several=several,
                description=text,
            )
        )
    for name in ("algorithm", "loss", "curriculum", "filter", "shaper", "writer"):
        place, text = f"gem_train.checks:check_{name}", f"checks that a {name} keeps its contract"
        registry.add(CheckSpec(id=name, entry_point=place, description=text))
    for kind, module, table in (
        (AlgorithmSpec, "algorithms.", ALGORITHMS),
        (LossSpec, "loss:", LOSSES),
        (CurriculumSpec, "curriculum:", CURRICULA),
        (EpisodeFilterSpec, "filters:", FILTERS),
        (RewardShaperSpec, "shapers:", SHAPERS),
    ):
        for name, (place, text) in table.items():
            registry.add(kind(id=name, entry_point=f"gem_train.{module}{place}", description=text))
    for name, (place, package, text) in WRITERS.items():
        entry_point = f"gem_train.metrics.{place}"
        registry.add(
            MetricWriterSpec(id=name, entry_point=entry_point, package=package, description=text)
        )
