"""The plugin: registers commands and the components of runs. This module does not import torch."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec
from gem_train.specs import ALGORITHMS, CURRICULA, ENGINES, FILTERS, LOSSES, SHAPERS, WRITERS

__all__ = ["gem_register"]

_COMMANDS = {
    "train": ("train_command:command", "Train a model on environments"),
    "make-model": ("make_model:command", "Make a tiny model with random weights"),
}
_ALGORITHMS = {
    "reinforce": ("reinforce:REINFORCE", "discounted returns"),
    "rebn": ("rebn:REBN", "discounted returns, standardised over the batch"),
    "grpo": ("grpo:GRPO", "returns of episodes, standardised in their group"),
    "drgrpo": ("grpo:DrGRPO", "returns of episodes, less the mean of their group"),
    "rloo": ("grpo:RLOO", "returns of episodes, less the mean of the others in their group"),
    "episode_reinforce": ("grpo:EpisodeREINFORCE", "returns of episodes"),
    "ppo": ("ppo:PPO", "generalised advantage estimation with a critic"),
}
_LOSSES = {
    "clip": ("Clip", "ratios to the old policy, clipped"),
    "reinforce": ("Reinforce", "log-probabilities, for one update of a batch"),
}
_CURRICULA = {
    "fixed": ("Fixed", "constant shares"),
    "levels": ("Levels", "one level after the other"),
    "learning_progress": ("LearningProgress", "larger shares where success changes"),
}
_FILTERS = {
    "dynamic_sampling": ("DynamicSampling", "leaves out groups of equal results (DAPO)"),
}
_SHAPERS = {
    "overlong": ("Overlong", "a penalty for responses near a limit of length (DAPO)"),
    "kl": ("KLPenalty", "a penalty for the distance to the initial model"),
}
_ENGINES = {
    "transformers": ("TransformersEngine", "the model that learns, in this process"),
    "vllm": ("VllmEngine", "vLLM, on a server or in this process"),
}
_WRITERS = {
    "csv": ("csv_file:CsvWriter", "", "metrics.csv in the run's folder"),
    "tensorboard": ("tensorboard:TensorBoardWriter", "tensorboard", "event files of TensorBoard"),
    "wandb": ("services:WandbWriter", "wandb", "a run of Weights & Biases"),
    "trackio": ("services:TrackioWriter", "trackio", "a run of trackio"),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands, and the specs of each kind."""
    for name, (place, text) in _COMMANDS.items():
        registry.add(
            Spec(kind=COMMANDS, id=name, entry_point=f"gem_train.{place}", description=text)
        )
    for kind, module, table in (
        (ALGORITHMS, "algorithms.", _ALGORITHMS),
        (LOSSES, "loss:", _LOSSES),
        (CURRICULA, "curriculum:", _CURRICULA),
        (ENGINES, "engines:", _ENGINES),
        (FILTERS, "filters:", _FILTERS),
        (SHAPERS, "shapers:", _SHAPERS),
    ):
        for name, (place, text) in table.items():
            entry_point = f"gem_train.{module}{place}"
            registry.add(Spec(kind=kind, id=name, entry_point=entry_point, description=text))
    for name, (place, package, text) in _WRITERS.items():
        entry_point = f"gem_train.metrics.{place}"
        needs = {"needs": package} if package else {}
        registry.add(
            Spec(kind=WRITERS, id=name, entry_point=entry_point, metadata=needs, description=text)
        )
