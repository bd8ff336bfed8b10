"""Servers of this machine do not answer web pages of other sites."""

import pytest

from gem_core.web_pages import page_problem

FINE = [
    ({"Host": "127.0.0.1:8000"}, "127.0.0.1"),
    ({"Host": "localhost"}, "::1"),
    ({"Host": "a.localhost:1", "Origin": "http://a.localhost:1"}, "127.0.0.1"),
    ({"Host": "[::1]:8000", "Origin": "http://[::1]:8000"}, "::ffff:127.0.0.1"),
    ({"Host": "box:8000"}, "10.0.0.7"),
    ({"Host": "box:8000", "Origin": "https://box:8000"}, "10.0.0.7"),
    ({"Host": "public.example"}, "127.0.0.1"),
]
REFUSED = [
    ({"Host": "evil.example"}, "127.0.0.1"),
    ({"Host": "127.0.0.1.evil.example:8000"}, "127.0.0.1"),
    ({}, "127.0.0.1"),
    ({"Host": "["}, "::1"),
    ({"Host": "localhost:8000", "Origin": "http://evil.example"}, "127.0.0.1"),
    ({"Host": "localhost:8000", "Origin": "http://localhost:3000"}, "127.0.0.1"),
    ({"Host": "localhost:8000", "Origin": "null"}, "127.0.0.1"),
    ({"Host": "localhost:8000", "Origin": "http://["}, "127.0.0.1"),
    ({"Host": "box:8000", "Origin": "http://evil.example"}, "10.0.0.7"),
]


def test_requests_of_clients_and_of_the_own_page_are_answered(subtests: pytest.Subtests) -> None:
    for headers, address in FINE:
        with subtests.test(str(headers)):
            assert page_problem(headers, address, names=["public.example"]) == ""


def test_requests_of_other_pages_are_refused(subtests: pytest.Subtests) -> None:
    for headers, address in REFUSED:
        with subtests.test(str(headers)):
            assert page_problem(headers, address)
