"""Extras: the base install works alone, and errors name the extra that is missing."""

from importlib import metadata

import pytest

from gem_tools import extras
from gem_tools.extras import MissingExtraError, require
from gem_tools.search import make_backend

OF_EXTRAS = "mcp anyio httpx2 aiohttp bm25s msgpack numpy Stemmer prometheus_client faiss"


@pytest.fixture
def without(monkeypatch):
    """Return a function that hides a distribution, or pretends that another version is there."""
    true_version = metadata.version

    def hide(name, version=None):
        def fake(asked):
            if asked.lower() != name.lower():
                return true_version(asked)
            if version is None:
                raise metadata.PackageNotFoundError(asked)
            return version

        monkeypatch.setattr(metadata, "version", fake)
        extras._problems.cache_clear()

    yield hide
    extras._problems.cache_clear()


@pytest.mark.slow
def test_the_tools_of_the_base_install_work_without_the_packages_of_the_extras(run_python):
    code = f"""
import sys
sys.modules.update(dict.fromkeys({OF_EXTRAS!r}.split()))
import gem_core, gem_tools.presets, gem_tools.search
with_python = gem_core.make_tool("python")
print(with_python.functions()[0].name)
"""
    assert run_python(code) == "python\n"


def test_a_missing_package_is_named_with_its_extra(without):
    without("bm25s")
    with pytest.raises(
        MissingExtraError, match=r"'bm25'.*bm25s.*not installed.*gem-tools\[search"
    ) as e:
        make_backend({"id": "bm25", "corpus": "nowhere"})
    assert isinstance(e.value, ImportError)


def test_a_version_that_does_not_fit_is_named(without):
    without("mcp", "2.0.0")
    with pytest.raises(MissingExtraError, match=r"mcp.*2\.0\.0 is installed.*gem-tools\[mcp\]"):
        require("mcp", "The tool 'mcp'")


def test_installed_extras_pass():
    require("mcp", "The tool 'mcp'")
    require("serve", "gem-core serve-search")
