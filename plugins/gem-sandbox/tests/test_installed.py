"""The programs that stand before package managers on machines of ``local``."""

import pytest

from gem_sandbox.machines.local.provider import LocalProvider
from gem_workers.machine import MachineSpec

METADATA = (
    b"Metadata-Version: 2.1\nName: made\nVersion: 1.2\nProvides-Extra: b\nProvides-Extra: c\n"
    b"Requires-Dist: made>=1; extra == 'b'\nRequires-Dist: gone; extra == 'c'\n"
)
TOOL = b"#!/bin/sh\necho ran $0 $*\n"


@pytest.fixture(scope="module")
def machine(local):
    spec = MachineSpec(
        workdir="/app",
        files={"/opt/lib/made-1.2.dist-info/METADATA": METADATA, "/opt/bin/made": TOOL},
    )
    with LocalProvider(installed="skip") as provider, provider.start(spec) as found:
        assert found.run("chmod +x /opt/bin/made", cwd="/").ok
        yield found


def run(machine, command):
    env = {"PYTHONPATH": "/opt/lib", "PIP_RETRIES": "0", "HOME": "/tmp"}
    return machine.run(f"PATH=$PATH:/opt/bin; {command}", env=env, timeout=60)


@pytest.mark.parametrize(
    "command",
    [
        "apt-get update && apt-get install -y --no-install-recommends bash",
        "pip install made",
        "pip install -q 'made>=1,<2' made[b]",
        "uv pip install --system made==1.2",
        "uv add made",
    ],
)
def test_what_is_there_is_not_installed(machine, command):
    ended = run(machine, command)
    assert (ended.exit_status, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "command",
    [
        "apt-get install -y bash=1.0",
        "apt-get install -y bash no-such-package",
        "apt-get install -y --reinstall bash",
        "apt-get install -y .",
        pytest.param("pip install 'made>=2'", marks=pytest.mark.slow),
        pytest.param("pip install made[gone]", marks=pytest.mark.slow),
        pytest.param("pip install made[c]", marks=pytest.mark.slow),
        pytest.param("pip install -r missing.txt", marks=pytest.mark.slow),
        "uv pip install --system gone",
        "uv run --with gone made",
        "uv run gone",
        "uvx made@2.0",
        "uvx --from gone made",
        "curl -LsSf -o install.sh https://astral.sh/uv/install.sh",
    ],
)
def test_nothing_claims_success_for_what_is_not_there(machine, command):
    assert run(machine, command).exit_status not in {0, None}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("uv run --with made made -q 'a b'", "ran /opt/bin/made -q a b\n"),
        ("uvx --python 3.12 --with made==1.2 made t -v", "ran /opt/bin/made t -v\n"),
        ("uvx made@1.2", "ran /opt/bin/made\n"),
        (
            (
                "curl -LsSf https://astral.sh/uv/0.7.13/install.sh | sh && "
                "source $HOME/.local/bin/env && uvx made x"
            ),
            "ran /opt/bin/made x\n",
        ),
        ("uv venv .own && . .own/bin/activate && echo $VIRTUAL_ENV", "/app/.own\n"),
    ],
)
def test_what_is_there_is_run(machine, command, said):
    ended = run(machine, command)
    assert (ended.stdout, ended.exit_status) == (said, 0), ended.stderr
