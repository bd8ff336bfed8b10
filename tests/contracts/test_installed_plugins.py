"""The conformance kit, run on everything that is installed; by default on one of each kind."""

import pytest
from kinds import one_of_each_kind
from selection import thorough

from gem_core.plugins import load_plugins
from gem_core.testing import ENV_CHECKS, check_env, check_plugin

LONG = {"mcp", "swe", "terminal"}
"""Environments that start a process or a machine for each episode."""
ALONE = ("odd_actions", "snapshots")
"""Checks that have a test of their own in these environments."""
LEFT_TO_NIGHTLY = {
    *("gem-math", "gem-sandbox", "mcp:MCPMark", "mcp:Postgres-Sample"),
    *("swe:Custom", "swe:Generated-easy", "swe:Generated-hard", "swe:Gym", "swe:Verified"),
}
"""Plugins and ids whose graders, machines and databases take half a minute or more to check."""


def cases():
    """Yield each kind with the checks of one test; one format of terminal tasks, graded fast."""
    others = [check for check in ENV_CHECKS if check not in ALONE]
    for spec in one_of_each_kind(levels=False):
        if spec.namespace not in LONG:
            yield pytest.param(spec, list(ENV_CHECKS), id=spec.id)
        elif spec.namespace != "terminal" or spec.id == "terminal:TerminalBench":
            for checks in (*([check] for check in ALONE), others):
                yield pytest.param(spec, checks, id=f"{spec.id}-{checks[0]}")


if thorough():
    pytestmark = pytest.mark.usefixtures("hub")

    @pytest.mark.gem("*")
    def test_every_environment_keeps_the_contract(gem_check):
        gem_check()

else:

    @pytest.mark.slow
    @pytest.mark.parametrize(("spec", "checks"), list(cases()))
    def test_an_environment_of_each_kind_keeps_the_contract(spec, checks, request):
        if spec.id in LEFT_TO_NIGHTLY:
            pytest.skip(f"{spec.id} is checked in the nightly run")
        if "dataset_name" in spec.kwargs:
            request.getfixturevalue("hub")
        report = check_env(spec, episodes=2 if spec.namespace in LONG else 10, checks=checks)
        report.raise_for_findings()
        if report.unchecked:
            pytest.skip(f"{spec.id}: {report.unchecked[0]}")


@pytest.mark.slow
@pytest.mark.parametrize("name", [status.name for status in load_plugins().statuses])
def test_every_plugin_keeps_the_contract(name):
    if name in LEFT_TO_NIGHTLY and not thorough():
        pytest.skip(f"{name} is checked in the nightly run")
    check_plugin(name).raise_for_findings()
