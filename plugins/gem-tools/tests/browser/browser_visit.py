"""A site with a browser at it, and the processes of the browser."""

import contextlib
import re
from pathlib import Path

from gem_tools import background
from gem_tools.browser import Window
from gem_tools.browser.server import BrowserTools
from gem_tools.browser.sites import HOME, SiteServer, new_site


class Visit:
    """A site and a browser at it."""

    def __init__(self, site, seed=1):
        self.site = SiteServer()
        self.site.state = new_site(site, seed)
        self.window = Window(HOME, self.site.proxy)
        self.tools = BrowserTools(self.window)

    def do(self, name, **arguments):
        """Use a tool and return what the agent reads."""
        return background.run(getattr(self.tools, f"browser_{name}")(**arguments))

    def ref(self, text, *, within=None):
        """Return the ref of the first line of the page with a text."""
        page = self.do("snapshot", target=within)
        return re.search(rf"{re.escape(text)}.*\[ref=(e\d+)\]", page)[1]

    def close(self):
        background.run(self.window.close())
        self.site.close()


def below(pid):
    """Return the processes that descend from one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
    found, rest = [], [pid]
    while rest:
        parent = rest.pop()
        children = [child for child, of in parents.items() if of == parent]
        found += children
        rest += children
    return found


def command(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""
