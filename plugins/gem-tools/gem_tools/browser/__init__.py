"""A browser for agents: the MCP server of the browser's tools, and the Chromium behind it.

Raises:
    NotInstalledError: The extra ``gem-tools[browser]`` is not installed.
"""

from gem_core.extras import require

require("gem-tools[browser]", "gem_tools.browser")

from gem_tools.browser.window import Window  # noqa: E402 - its modules import what it installs

__all__ = ["Window"]
