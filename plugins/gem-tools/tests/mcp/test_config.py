"""Every form of a configuration leads to the servers that it means, or to a clear error."""

import json

import pytest

from gem_core.errors import ConfigError
from gem_tools.mcp.config import ServerConfig, read_config


def test_a_url_is_one_http_server_called_default():
    assert read_config("http://host/mcp") == {
        "default": ServerConfig(transport="http", url="http://host/mcp")
    }


def test_a_token_becomes_a_bearer_header_and_headers_are_kept():
    (server,) = read_config("http://host/mcp", auth="abc", headers={"X-Team": "blue"}).values()
    assert dict(server.headers) == {"Authorization": "Bearer abc", "X-Team": "blue"}


def test_a_servers_own_headers_and_token_come_before_the_common_ones():
    config = {"mcpServers": {"a": {"url": "http://a", "headers": {"X-Team": "red"}, "auth": "own"}}}
    (server,) = read_config(config, auth="common", headers={"X-Team": "blue"}).values()
    assert dict(server.headers) == {"Authorization": "Bearer own", "X-Team": "red"}


def test_a_list_of_texts_is_a_command():
    (server,) = read_config(["python", "-m", "thing"]).values()
    assert (server.transport, server.command) == ("stdio", ("python", "-m", "thing"))


def test_a_mapping_without_mcp_servers_is_one_server():
    (server,) = read_config({"command": "thing", "args": ["-v"], "env": {"A": 1}}).values()
    assert server.command == ("thing", "-v")
    assert dict(server.env) == {"A": "1"}


def test_the_transport_follows_from_what_is_given_unless_it_is_named():
    config = {
        "mcpServers": {
            "a": {"command": "thing"},
            "b": {"url": "http://b"},
            "c": {"url": "http://c", "transport": "sse"},
            "d": {"url": "http://d", "type": "streamable-http"},
            "e": "http://e",
        }
    }
    transports = {name: server.transport for name, server in read_config(config).items()}
    assert transports == {"a": "stdio", "b": "http", "c": "sse", "d": "http", "e": "http"}


def test_a_file_is_read_wherever_a_configuration_may_stand(tmp_path):
    path = tmp_path / "servers.json"
    config = {"mcpServers": {"a": {"command": "thing"}, "b": {"url": "http://b"}}}
    path.write_text(json.dumps(config))
    assert read_config(path) == read_config(str(path)) == read_config(config)


def test_the_same_server_written_in_two_ways_is_equal_so_that_tools_share_it():
    one = read_config({"url": "http://a", "headers": {"A": "1", "B": "2"}})
    other = read_config("http://a", headers={"B": "2", "A": "1"})
    assert one == other
    assert hash(one["default"]) == hash(other["default"])


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (17, "An MCP configuration is a URL"),
        ([], "An MCP configuration is a URL"),
        ({"mcpServers": {}}, "names no server"),
        ({"mcpServers": {"a": 5}}, "is a mapping or a URL"),
        ({"comand": "x"}, "Did you mean 'command'"),
        ({"url": ""}, "needs 'url'"),
        ({"command": "x", "args": "a b"}, "list of texts"),
        ({"command": "x", "headers": {}}, "takes no 'headers'"),
        ({"url": "http://a", "transport": "sme"}, "Did you mean 'sse'"),
        ("/no/such/file.json", "cannot be read"),
    ],
)
def test_what_cannot_work_is_refused_with_what_to_do(config, said):
    with pytest.raises(ConfigError, match=said):
        read_config(config)


def test_errors_and_reprs_show_no_secrets():
    config = {"url": "http://a", "headers": {"Authorization": "secret"}, "typo": 1}
    with pytest.raises(ConfigError) as caught:
        read_config(config)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(read_config("http://a", auth="secret"))
