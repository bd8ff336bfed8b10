"""The same over HTTP: streamable and SSE, with headers, restarts and many calls at once."""

import asyncio
import http.server
import sys
import threading

import pytest
from selection import thorough

from gem_core.errors import ConfigError
from gem_tools.mcp import MCPTool

pytestmark = pytest.mark.slow
FAST = {"delay_between_retries": 0.05}


def test_tools_are_listed_and_called_over_streamable_http(odd_http, call):
    tool = MCPTool(f"http://127.0.0.1:{odd_http.port}/mcp")
    assert call(tool, "echo", text="far").output == "far"
    assert int(call(tool, "pid").output) == odd_http.process.pid
    tool.close()


def test_results_of_many_megabytes_come_through(odd_http, call):
    tool = MCPTool.from_url(f"http://127.0.0.1:{odd_http.port}/mcp", longest_output=9_000_000)
    assert len(call(tool, "flood", size=5_000_000).output) == 5_000_000
    tool.close()


def test_none_of_many_concurrent_calls_fails(odd_http):
    tool = MCPTool(f"http://127.0.0.1:{odd_http.port}/mcp", max_retries=0, execution_timeout=120)
    call = tool.parse("<tool_call><tool_name>pid</tool_name></tool_call>")

    async def many():
        return await asyncio.gather(*(tool.arun(call) for _ in range(512 if thorough() else 150)))

    results = asyncio.run(many())
    tool.close()
    assert [result for result in results if not result.ok] == []


def test_a_call_over_http_that_takes_too_long_is_cancelled_at_the_server(
    odd_http, call, was_cancelled, tmp_path
):
    url, note = f"http://127.0.0.1:{odd_http.port}/mcp", tmp_path / "note"
    for seconds in (0.5, 5.0, 50.0):  # a busy machine needs longer until the call begins
        tool = MCPTool(url, execution_timeout=seconds, max_retries=0)
        found = call(tool, "hang", note=str(note))
        assert f"timed out after {seconds} seconds" in found.output
        if note.exists():
            break
        tool.close()
    assert call(tool, "echo", text="on").output == "on"
    assert was_cancelled(note)
    tool.close()


@pytest.fixture(scope="module")
def served(serve, odd_command):
    return serve(lambda port: [*odd_command, "http", str(port)])


@pytest.fixture
def mortal(served):
    """An odd server that tests may end."""
    if served.process.poll() is not None:
        served.start()
    return served


def test_a_server_that_was_started_again_is_found_again_with_and_without_a_session_id(mortal, call):
    url = f"http://127.0.0.1:{mortal.port}/mcp"
    tools = [MCPTool(url, max_retries=2, sampling_handler=one, **FAST) for one in (None, print)]
    pids = {int(call(tool, "pid").output) for tool in tools}
    assert pids == {mortal.process.pid}
    mortal.stop()
    lost = [call(tool, "pid").output for tool in tools]
    mortal.start()
    assert [int(call(tool, "pid").output) for tool in tools] == [mortal.process.pid] * 2
    for tool, said in zip(tools, lost, strict=True):
        tool.close()
        assert said.startswith("[Tool execution failed: failed to connect")


def test_a_server_over_http_that_dies_in_mid_call_is_a_failed_call(mortal, call):
    tool = MCPTool(f"http://127.0.0.1:{mortal.port}/mcp", max_retries=1, **FAST)
    result = call(tool, "die")
    assert result.output.startswith("[Tool execution failed: failed to connect")
    tool.close()


def test_the_sse_transport_lists_calls_and_comes_back(serve, odd_command, call):
    served = serve(lambda port: [*odd_command, "sse", str(port)])
    url = f"http://127.0.0.1:{served.port}/sse"
    tool = MCPTool({"url": url, "transport": "sse"}, max_retries=20, **FAST)
    assert call(tool, "echo", text="events").output == "events"
    served.stop()
    served.start()
    assert int(call(tool, "pid").output) == served.process.pid
    tool.close()


def test_one_tool_calls_several_servers_by_url(odd_http, serve, call):
    clock = [sys.executable, "-m", "gem_tools.mcp.time_server"]
    served = serve(lambda port: [*clock, "--transport", "http", "--port", str(port)])
    tool = MCPTool.from_multi_server(
        {
            "odd": f"http://127.0.0.1:{odd_http.port}/mcp",
            "clock": f"http://127.0.0.1:{served.port}/time-mcp",
        }
    )
    assert call(tool, "echo", text="a").output == "a"
    assert call(tool, "clock.days_in_month", date="2023-04-01").output == "30"
    tool.close()


def test_headers_and_token_are_sent_with_the_requests():
    seen = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append((self.headers["Authorization"], self.headers["X-Team"]))
            self.send_error(401)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener) as listener:
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        with pytest.raises(ConfigError, match="failed to connect"):
            MCPTool(
                f"http://127.0.0.1:{listener.server_port}/mcp", auth="abc", headers={"X-Team": "x"}
            )
        listener.shutdown()
        thread.join()
    assert set(seen) == {("Bearer abc", "x")}


def test_an_unreachable_url_is_a_configuration_error():
    with pytest.raises(
        ConfigError, match=r"failed to connect to the MCP server 'http://127\.0\.0\.1:9/"
    ):
        MCPTool("http://127.0.0.1:9/mcp")
