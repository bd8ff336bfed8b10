"""A real Chromium at the sites."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from browser_visit import Visit, below, command
from mcp.server.mcpserver.exceptions import ToolError

from gem_tools import background
from gem_tools.browser.sites import SITES


def test_an_agent_reads_a_page_and_acts_on_its_elements(visit):
    shop = visit("shop", 3)
    page = shop.do("navigate", url="/products/103")
    assert page.startswith("Page: http://site.test/products/103\nTitle: Corvi Studio Lamp")
    field, send = shop.ref('textbox "Quantity"'), shop.ref('button "Add to basket"')
    shop.do("type", target=field, text="2", element="the quantity")
    assert "Page: http://site.test/basket" in shop.do("click", target=send)
    assert shop.site.state["data"]["basket"] == {"103": 2}
    page = shop.do("navigate_back")
    assert "Page: http://site.test/products/103" in page
    shop.do("navigate", url="http://site.test/")
    shop.do("select_option", target=shop.ref('combobox "Kind"'), values=["Lamps"])
    shop.do("click", target=shop.ref('textbox "Name contains"'))
    page = shop.do("press_key", key="Enter")
    assert "18 in all" in page
    assert "Kettle" not in page.partition("table")[2]


def test_a_part_of_a_page_has_the_refs_of_the_whole(visit):
    shop = visit("shop", 3)
    shop.do("navigate", url="/products/103")
    price = shop.ref("listitem")
    assert price in shop.do("snapshot", target="main ul")
    assert "Price" in shop.do("snapshot", target=price)
    assert "Price" not in shop.do("snapshot", depth=2)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("click", {"target": "e999"}, "no element 'e999'"),
        ("click", {"target": "nav a"}, "fits 3 elements"),
        ("click", {"target": "((("}, "not a target"),
        ("type", {"target": "h1", "text": "x"}, "not an <input>"),
        (
            "select_option",
            {"target": "select[name=kind]", "values": ["Sofas"]},
            "no option 'Sofas'. There are: 'All', 'Kettles'",
        ),
        ("press_key", {"key": "Foo"}, "Unknown key"),
        ("tabs", {"action": "select"}, "which tab"),
        ("tabs", {"action": "close", "index": 4}, "no tab 4"),
        ("navigate", {"url": "http://example.com/"}, r"Only pages of http://site\.test/"),
        ("navigate", {"url": "https://site.test/"}, "Only pages of"),
        ("navigate", {"url": "http://site.test:8080/"}, "Only pages of"),
        ("navigate", {"url": "http://a@site.test/"}, "Only pages of"),
        ("navigate", {"url": "file:///etc/passwd"}, "Only pages of"),
        ("navigate", {"url": "view-source:http://site.test/"}, "Only pages of"),
        ("navigate", {"url": "javascript:alert(1)"}, "Only pages of"),
        ("navigate", {"url": "data:text/html,x"}, "Only pages of"),
        ("navigate", {"url": "http://[/"}, "not an address"),
    ],
)
def test_an_agent_reads_why_something_cannot_be_done(running, tool, arguments, said):
    with pytest.raises(ToolError, match=said):
        running.do(tool, **arguments)
    assert "Page: http://site.test/" in running.do("snapshot")


def test_the_browser_itself_reaches_nothing_but_the_site(visit):
    heard = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(self.path)

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        shop = visit("shop")
        shop.do("snapshot")

        async def try_others():
            async with shop.window.use():
                page = shop.window.page
                for host in ("127.0.0.1", "localhost", "[::1]"):
                    with contextlib.suppress(Exception):
                        await page.goto(f"http://{host}:{other.server_port}/page")
                    await page.evaluate(
                        "url => fetch(url, {mode: 'no-cors'}).catch(() => 0)",
                        f"http://{host}:{other.server_port}/fetch",
                    )

        background.run(try_others())
        other.shutdown()
    assert heard == []


def test_windows_share_no_cookies_and_no_state(visit):
    one, other = visit("forum"), visit("forum")
    one.do("navigate", url="/sign-in")
    one.do("type", target="input[name=name]", text="mira")
    assert "Signed in as mira" in one.do(
        "type", target="input[name=password]", text="rhubarb-7", submit=True
    )
    assert "Signed in" not in other.do("navigate", url="/")


def test_a_state_opens_the_same_tabs_signed_in_with_the_same_refs(visit):
    one, other = visit("forum"), visit("forum")
    one.do("navigate", url="/sign-in")
    one.do("type", target="input[name=name]", text="jonas")
    one.do("type", target="input[name=password]", text="trowel-21", submit=True)
    one.do("tabs", action="new")
    page = one.do("navigate", url="/threads/11")
    other.site.state = one.site.state
    state = background.run(one.window.state())
    background.run(other.window.load(state))
    assert background.run(other.window.state()) == state
    assert (
        background.run(other.window.state())["tabs"] == background.run(one.window.state())["tabs"]
    )
    lock = one.ref('button "Lock this thread"')
    assert "This thread is locked" in other.do("click", target=lock)
    assert one.do("snapshot") == page


def test_tabs_are_opened_chosen_and_closed(visit):
    shop = visit("shop")
    shop.do("navigate", url="/basket")
    assert "0: http://site.test/basket\n1 (current): http://site.test/" in shop.do(
        "tabs", action="new"
    )
    assert "Page: http://site.test/basket" in shop.do("tabs", action="select", index=0)
    assert "Page: http://site.test/\n" in shop.do("tabs", action="close", index=0)
    assert "Page: http://site.test/\n" in shop.do("tabs", action="close")


def test_a_long_page_is_cut_between_lines_and_says_how_to_see_the_rest(visit):
    tickets = visit("tickets")
    state = tickets.site.state
    state["data"]["tickets"][0]["comments"] = [f"Comment number {n}." for n in range(1000)]
    tickets.site.state = state
    page = tickets.do("navigate", url="/tickets/401")
    assert len(page) < 12_500
    assert "more lines. To see them, call browser_snapshot" in page.splitlines()[-1]


def test_a_crash_is_told_and_counted_and_the_next_call_starts_anew(visit):
    shop = visit("shop")
    shop.do("navigate", url="/basket")
    programs = [pid for pid in below(os.getpid()) if "headless" in command(pid)]
    browser = [pid for pid in programs if "--type=" not in command(pid)]
    for pid in browser:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ToolError):
        shop.do("snapshot")
    assert "Page: http://site.test/" in shop.do("snapshot")
    assert shop.window.crashes == 1


def test_many_windows_work_at_the_same_time(visit):
    visits = [visit(site, 3) for site in SITES for _ in range(2)]
    with ThreadPoolExecutor(len(visits)) as pool:
        pages = list(pool.map(lambda one: one.do("snapshot"), visits))
    titles = [page.splitlines()[1] for page in pages]
    assert len(set(titles)) == len(SITES)
    assert titles[::2] == titles[1::2]


OWNER = """
import sys, time
sys.path.insert(0, {folder!r})
from browser_visit import Visit, below, command
shop = Visit("shop")
shop.do("snapshot")
print("open", flush=True)
{end}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("end", "stop"),
    [
        ("time.sleep(60)", signal.SIGKILL),
        ("time.sleep(60)", signal.SIGINT),
        ("", None),
        ("shop.close(); time.sleep(60)", None),
    ],
)
def test_nothing_is_left_of_a_browser_when_its_owner_ends(end, stop):
    folders = [str(Path(__file__).parent), *sys.path]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(folder=folders[0], end=end)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        start_new_session=True,
    )
    with owner:
        assert owner.stdout.readline() == b"open\n"
        started = below(owner.pid)
        if stop:
            assert len(started) > 2
            os.killpg(owner.pid, stop) if stop == signal.SIGINT else owner.send_signal(stop)
        until = time.monotonic() + 15
        while any(command(pid) for pid in started) and time.monotonic() < until:
            time.sleep(0.05)
        left = [command(pid) for pid in started if command(pid)]
        owner.kill()
    assert left == []


@pytest.mark.slow
def test_a_fork_of_the_process_has_a_browser_of_its_own(visit):
    parent = visit("shop")
    parent.do("snapshot")
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            own = Visit("forum")
            shown = own.do("snapshot").startswith("Page: http://site.test/")
            own.close()
            os._exit(0 if shown else 1)
        os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert "Page: http://site.test/" in parent.do("snapshot")
