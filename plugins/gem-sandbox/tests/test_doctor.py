"""``gem-core doctor`` reports what works on this machine, and what to do about the rest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from backends import ISOLATED, require


def doctor(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gem_core", "doctor", *arguments]
    env = {**os.environ, "COLUMNS": "200", **environ}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=env)


def findings(**environ: str) -> dict[tuple[str, str], dict[str, object]]:
    rows = json.loads(doctor("--json", **environ).stdout)
    return {(row["sandbox"], row["part"]): row for row in rows}


def test_the_table_names_every_sandbox_and_its_parts() -> None:
    said = doctor().stdout
    for word in ("warm", "tier full", "bubblewrap", "Landlock", "docker", "engine", "process"):
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
