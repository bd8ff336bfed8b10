"""Extras: the base install works alone, and errors name the extra that is missing."""

import pytest

from gem_core.errors import NotInstalledError
from gem_tools.search import make_backend

OF_EXTRAS = "mcp anyio httpx2 aiohttp bm25s msgpack numpy Stemmer prometheus_client faiss"


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
    with pytest.raises(NotInstalledError, match=r"'bm25'.*bm25s.*not installed.*gem-tools\[search"):
        make_backend({"id": "bm25", "corpus": "nowhere"})
