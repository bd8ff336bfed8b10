"""What is known before there is a cluster: versions, sizes, and a package that is missing."""

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from gem_core.errors import ConfigError
from gem_serve.cluster.connection import patiently
from gem_serve.cluster.pool import fitting
from gem_serve.cluster.versions import check_versions, installed_versions


def test_a_difference_of_versions_is_an_error_with_both() -> None:
    """Plugins that only one side has do not matter, and neither does the last part of Python's."""
    here = {"Python": "3.11.7", "gem-core": "0.1.0", "gem-mine": "1.2"}
    check_versions(here, {"Python": "3.11.9", "gem-core": "0.1.0", "gem-theirs": "3"}, "there")
    with pytest.raises(ConfigError, match=r"gem-mine is 1\.2 in the driver and 1\.3 on there"):
        check_versions(here, {**here, "gem-mine": "1.3"}, "there")
    with pytest.raises(ConfigError, match=r"Python is 3\.11\.7 .* and 3\.12\.1 on there"):
        check_versions(here, {**here, "Python": "3.12.1"}, "there")


def test_the_versions_are_those_of_gem_core_and_its_plugins() -> None:
    """Other distributions do not count."""
    found = installed_versions()
    assert {"Python", "gem-core", "gem-serve", "gem-workers"} <= found.keys()
    assert "cloudpickle" not in found


def test_as_many_actors_as_fit_into_the_cluster() -> None:
    """The scarcest resource decides."""
    has = {"CPU": 8.0, "sandbox": 3.0}
    assert fitting(has, {"CPU": 0.5}, most=100) == 16
    assert fitting(has, {"CPU": 0.5, "sandbox": 1.0}, most=100) == 3
    assert fitting(has, {"CPU": 0.0}, most=100) == 100
    assert fitting(has, {"CPU": 1.0, "gpu": 1.0}, most=100) == 1


def test_a_connection_that_fails_for_a_moment_is_tried_again() -> None:
    """A blip of the network; an error of another kind is raised immediately."""
    answers: list[Exception | None] = [ConnectionError("reset"), RuntimeError("no GCS"), None]

    def ask() -> str:
        answer = answers.pop(0)
        if answer is not None:
            raise answer
        return "connected"

    assert patiently(ask) == "connected"
    answers[:] = [ValueError("a bad option"), None]
    with pytest.raises(ValueError, match="bad option"):
        patiently(ask)
    answers[:] = [ConnectionError("refused"), None]
    with pytest.raises(ConnectionError, match="refused"):
        patiently(ask, seconds=0)


@pytest.mark.slow
def test_without_ray_the_error_says_what_to_install(run_python: Callable[..., str]) -> None:
    """The package is an extra."""
    if find_spec("ray"):
        pytest.skip("Ray is installed")
    code = """
from gem_core.errors import NotInstalledError
from gem_serve.cluster import RayPool
try:
    RayPool()
except NotInstalledError as error:
    print(error)
"""
    assert "pip install 'gem-serve[ray]'" in run_python(code)
