"""The spec of an environment that stands for a dataset, whose rows cannot be replaced."""

from dataclasses import dataclass
from typing import Any, Self

from gem_core.errors import ConfigError
from gem_core.specs import EnvSpec

__all__ = ["LICENSE_ON_PAGE", "DatasetSpec"]

LICENSE_ON_PAGE = "see the dataset's page"
"""The license of a dataset in ``metadata`` if the spec does not give one."""

_ROWS = ("data", "dataset_name")


@dataclass(frozen=True, kw_only=True)
class DatasetSpec(EnvSpec):
    """An environment over a dataset that its id names, so that results are never those of others.

    Its ``metadata`` names the dataset's page on the hub unless it says otherwise.

    Args:
        other_rows: Id of an environment with the same parameters for any rows.
    """

    other_rows: str

    def __post_init__(self) -> None:
        super().__post_init__()
        name = str(self.kwargs.get("dataset_name") or "").partition(":")[0]
        if name:
            page = {"data": f"https://huggingface.co/datasets/{name}", "license": LICENSE_ON_PAGE}
            object.__setattr__(self, "metadata", page | dict(self.metadata))

    def with_kwargs(self, **kwargs: Any) -> Self:
        """Return the same spec with some arguments replaced.

        Raises:
            ConfigError: One of them replaces the rows.
        """
        for name in _ROWS:
            given, own = kwargs.get(name), self.kwargs.get(name)
            if given is not None and not (isinstance(given, str) and given in ("", own)):
                rows = repr(self.kwargs.get("data") or self.kwargs.get("dataset_name"))
                raise ConfigError(
                    f"{self.id!r} stands for the rows of {rows}, so {name}= cannot replace them. "
                    f"For other rows, use {self.other_rows!r}, with the same parameters."
                )
        return super().with_kwargs(**kwargs)
