"""A sandbox of a third party, written with the core alone: a stateless service on another machine.

The service stands in for any that runs programs; behind it is the sandbox ``process``.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import pytest
from backends import BACKENDS
from selection import thorough

from gem_core.errors import SandboxError
from gem_workers import BaseSandbox
from gem_workers.sandbox import Execution, Program
from gem_workers.testing import SANDBOX_CHECKS, check_sandbox
from gem_workers.testing.session_checks import SESSION_CHECKS


class RemoteSandbox(BaseSandbox):
    """Sends programs to a service as JSON."""

    def __init__(self, url: str) -> None:
        self.url = url

    def run(self, program: Program) -> Execution:
        self.check_open()
        files = {name: content.decode("latin-1") for name, content in program.files.items()}
        body = json.dumps({**asdict(program), "files": files}).encode()
        try:
            with urlopen(self.url, body, timeout=program.timeout + 30) as answer:  # noqa: S310
                return Execution(**json.load(answer))
        except OSError as error:
            raise SandboxError(f"The service at {self.url} does not answer: {error}") from error


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    sandbox = BACKENDS["process"](workers=2)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            files = {name: text.encode("latin-1") for name, text in fields.pop("files").items()}
            execution = sandbox.run(Program(**fields, files=files))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(asdict(execution)).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
    sandbox.close()


OF_THE_SERVICE = {"interpreter", "leftovers", "limits"}
"""Checks of what only the service does, which test_contract has too."""


@pytest.mark.slow
def test_a_sandbox_that_only_runs_programs_keeps_the_contract_as_far_as_it_applies(
    service: str,
) -> None:
    checks = [name for name in SANDBOX_CHECKS if thorough() or name not in OF_THE_SERVICE]
    report = check_sandbox(lambda: RemoteSandbox(service), checks=checks)
    report.raise_for_findings()
    assert report.unchecked == [
        "isolation: the sandbox does not isolate",
        *(f"{check}: the sandbox has no sessions" for check in SESSION_CHECKS),
    ]


def test_a_service_that_is_down_is_an_error_of_the_sandbox() -> None:
    sandbox = RemoteSandbox("http://127.0.0.1:9")
    with pytest.raises(SandboxError, match="does not answer"):
        sandbox.run(Program("pass"))
