"""The family ``hf``: every dataset of questions on the hub, by its name."""

from collections.abc import Iterable

from gem_core.errors import InvalidIdError
from gem_core.specs import EnvSpec
from gem_tasks.dataset_spec import DatasetSpec

__all__ = ["HubFamily"]

_PREFIX = "hf:"


class HubFamily:
    """Environments over datasets of the hub; see ``gem_core.specs.Family``.

    ``hf:org/name`` is a dataset, and ``hf:org/name/config`` one of its configs. No id is listed,
    as the hub has too many, and none is looked up before an environment is made.
    """

    def ids(self) -> Iterable[str]:
        return ()

    def spec(self, env_id: str) -> EnvSpec | None:
        parts = env_id.removeprefix(_PREFIX).split("/")
        if len(parts) > 3 or not all(parts):
            raise InvalidIdError(
                f"A dataset on the hub is 'hf:org/name', or 'hf:org/name/config'; got {env_id!r}."
            )
        name = ":".join(filter(None, ["/".join(parts[:2]), *parts[2:]]))
        return DatasetSpec(
            id=env_id,
            entry_point="gem_tasks.dataset_env:DatasetEnv",
            kwargs={"dataset_name": name},
            description=f"the questions of {name} on the hub",
            oracle="gem_tasks:GoldOracle",
            return_range=(0.0, 1.0),
            other_rows="hf:org/name",
            metadata={"score": "1 for a correct answer, 0 otherwise"},
        )
