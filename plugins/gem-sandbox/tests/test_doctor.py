"""``gem-core doctor`` reports what works on this machine, and what to do about the rest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from backends import ISOLATED, require

from gem_core.errors import NoMachineError
from gem_core.machine import MachineSpec
from gem_sandbox.machines.local.provider import LocalProvider

_NO_NAMESPACES = 'echo 0 > /proc/sys/user/max_user_namespaces && "$0" -m gem_core doctor --json'


def doctor(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gem_core", "doctor", *arguments]
    env = {**os.environ, "COLUMNS": "200", **environ}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=env)


def findings(**environ: str) -> dict[tuple[str, str], dict[str, object]]:
    rows = json.loads(doctor("--json", **environ).stdout)
    return {(row["sandbox"], row["part"]): row for row in rows}


def test_the_table_names_every_sandbox_and_its_parts() -> None:
    said = doctor().stdout
    words = "warm", "tier full", "bubblewrap", "Landlock", "docker", "engine", "process", "machines"
    for word in words:
        assert word in said


def test_without_an_engine_it_says_what_to_do() -> None:
    engine = findings(DOCKER_HOST="unix:///nowhere/docker.sock")["docker", "engine"]
    assert engine["works"] is False
    assert "unix:///nowhere/docker.sock" in str(engine["detail"])
    assert "apt-get install docker.io" in str(engine["remedy"])


def test_without_bubblewrap_it_says_what_to_install(tmp_path: Path) -> None:
    row = findings(PATH=str(tmp_path))["warm", "bubblewrap"]
    assert row["works"] is False
    assert row["remedy"] == "apt-get install bubblewrap"


@pytest.mark.parametrize("name", ISOLATED)
def test_what_works_is_reported_as_working_and_the_status_is_0(name: str) -> None:
    require(name)
    rows = findings()
    if name == "docker":
        assert rows["docker", "engine"]["works"] is True
        assert rows["docker", "image gem-sandbox"]["works"] is True
    else:
        assert rows["warm", name.replace("warm-", "tier ")]["works"] is True
    assert doctor().returncode == 0


def test_a_provider_of_machines_works_if_a_machine_has_run_a_command() -> None:
    rows = findings()
    assert rows["machines", "process"]["works"] is True
    assert rows["machines", "process"]["detail"] == "no isolation"
    local = rows["machines", "local"]
    assert local["detail"] == (_why_no_machine() or "isolated")
    assert local["works"] is not bool(_why_no_machine())


def _why_no_machine() -> str:
    try:
        with LocalProvider() as provider:
            provider.start(MachineSpec()).close()
    except NoMachineError as error:
        return str(error)
    return ""


def test_without_user_namespaces_it_says_why_there_are_no_machines() -> None:
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", _NO_NAMESPACES, sys.executable]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if not done.stdout:
        pytest.skip("no user namespace can be made in which to forbid them")
    rows = {(row["sandbox"], row["part"]): row for row in json.loads(done.stdout)}
    assert rows["machines", "local"]["works"] is False
    assert "unshare" in str(rows["machines", "local"]["detail"])
    assert "allow user namespaces" in str(rows["machines", "local"]["remedy"])
    assert rows["machines", "process"]["works"] is True
