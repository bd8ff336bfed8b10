"""The pytest plugin of the conformance kit: each check of each environment is a test.

A test that is marked with a pattern of ids and takes the fixture ``gem_check`` is run once for
every check and every environment that matches::

    @pytest.mark.gem("acme:*")
    def test_environments_keep_the_contract(gem_check):
        gem_check()
"""

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["gem_check"]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", "gem(pattern, episodes=20): run the conformance kit on matching environments"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Multiply a marked test by environments and checks."""
    if "gem_check" not in metafunc.fixturenames:
        return
    # Other test runs must not pay for importing the kit.
    from gem_core.api import find_envs  # noqa: PLC0415
    from gem_core.testing.env_checks import ENV_CHECKS  # noqa: PLC0415

    marker = metafunc.definition.get_closest_marker("gem")
    pattern = marker.args[0] if marker is not None and marker.args else "*"
    episodes = marker.kwargs.get("episodes", 20) if marker is not None else 20
    specs = find_envs(pattern)
    if not specs:
        pytest.fail(f"No environment matches {pattern!r}: is the plugin installed?", pytrace=False)
    cases = [
        pytest.param((spec, check, episodes), id=f"{spec.id}-{check}")
        for spec in specs
        for check in ENV_CHECKS
    ]
    metafunc.parametrize("gem_check", cases, indirect=True)


@pytest.fixture
def gem_check(request: pytest.FixtureRequest) -> Callable[[], None]:
    """Return a function that runs one check of one environment and fails the test with it."""
    spec, check, episodes = request.param

    def run() -> None:
        from gem_core.testing.env_checks import check_env  # noqa: PLC0415

        report: Any = check_env(spec, episodes=episodes, checks=[check])
        if not report.ok:
            pytest.fail(f"{spec.id}: {report.findings[0].message}", pytrace=False)
        if report.unchecked:
            pytest.skip(f"{spec.id}: {report.unchecked[0]}")

    return run
