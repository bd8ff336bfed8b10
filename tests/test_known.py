"""The table of what gem-core's own distributions have, held against those that are installed."""

from importlib import metadata

import pytest

import gem_core
from gem_core.errors import UnknownIdError
from gem_core.known import KNOWN, install_hint
from gem_core.plugins import load_plugins
from gem_core.specs import EnvSpec, FamilySpec

OURS = {distribution for table in KNOWN.values() for distribution in table.values()}


def registered(kind):
    """Return the distribution of each id of a kind, without those of gem-core and third parties."""
    registry = load_plugins().registry
    specs = dict(registry._specs.get(kind, {}))
    if kind == EnvSpec.kind:
        specs |= registry._specs.get(FamilySpec.kind, {})
    found = {spec_id: spec.source.partition(" ")[0] for spec_id, spec in specs.items()}
    return {spec_id: source for spec_id, source in found.items() if source in OURS}


@pytest.mark.parametrize("kind", KNOWN)
def test_the_table_has_what_every_installed_distribution_registers(kind):
    table = KNOWN[kind]
    for spec_id, source in registered(kind).items():
        if kind == "agent" and spec_id.endswith("-oracle"):
            continue  # found through the spec of its environment
        assert table.get(spec_id, table.get(spec_id.partition(":")[0])) == source, spec_id


@pytest.mark.parametrize("kind", KNOWN)
def test_the_table_has_nothing_that_an_installed_distribution_lacks(kind):
    found = registered(kind)
    namespaces = {(spec_id.partition(":")[0], source) for spec_id, source in found.items()}
    installed = {one.distribution.partition(" ")[0] for one in load_plugins().statuses}
    for spec_id, distribution in KNOWN[kind].items():
        if distribution in installed:
            assert (spec_id, distribution) in {*found.items(), *namespaces}, spec_id


@pytest.mark.parametrize(
    ("kind", "spec_id", "distribution"),
    [
        ("environment", "math:Sample", "gem-math"),
        ("environment", "math/Sample", "gem-math"),
        ("environment", "eval:MATH500", "gem-math"),
        ("tool", "python", "gem-tools"),
        ("command", "eval", "gem-eval"),
    ],
)
def test_what_is_not_installed_is_named_with_its_distribution(
    kind, spec_id, distribution, monkeypatch
):
    assert install_hint(kind, spec_id) == ""

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert install_hint(kind, spec_id).endswith(f"pip install {distribution}.")


def test_an_unknown_id_says_what_to_install(monkeypatch):
    monkeypatch.setitem(KNOWN["environment"], "acme", "gem-acme")
    monkeypatch.setitem(KNOWN["tool"], "hammer", "gem-acme")
    with pytest.raises(UnknownIdError, match=r"'acme:Echo-v0'\. .* pip install gem-acme"):
        gem_core.make("acme:Echo-v0")
    with pytest.raises(UnknownIdError, match="pip install gem-acme"):
        gem_core.make_tool("hammer")
