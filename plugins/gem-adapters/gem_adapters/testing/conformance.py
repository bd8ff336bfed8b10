"""The family of the environments that the conformance suite of adapters plays."""

from collections.abc import Iterable

from gem_core.specs import EnvSpec

__all__ = ["Conformance"]

_PLACES = {
    **{
        name: name
        for name in (
            "Asynchronous",
            "Failing",
            "Game",
            "Hanging",
            "Meeting",
            "Picture",
            "Turns",
            "TwoAgents",
        )
    },
    "Sums": "sums",
}


class Conformance:
    """The environments of ``gem_adapters.testing.adapter_envs``."""

    def ids(self) -> Iterable[str]:
        """Return no ids: the environments are for the suite."""
        return ()

    def spec(self, env_id: str) -> EnvSpec | None:
        """Return the spec of ``conformance:NAME``."""
        place = _PLACES.get(env_id.partition(":")[2])
        if place is None:
            return None
        return EnvSpec(id=env_id, entry_point=f"gem_adapters.testing.adapter_envs:{place}")
