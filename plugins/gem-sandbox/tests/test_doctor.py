"""``gem-core doctor`` reports what works on this machine, and what to do about the rest."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from backends import ISOLATED, require
from cli import gem
from local_machines import why_not_local

from gem_sandbox.warm.tiers import TIERS, why_not

pytestmark = pytest.mark.slow
Rows = dict[tuple[str, str], dict[str, object]]
_NO_NAMESPACES = (
    'echo 0 > /proc/sys/user/max_user_namespaces && "$0" -m gem_core doctor --format json'
)


def rows_of(done: subprocess.CompletedProcess[str]) -> Rows:
    return {(row["sandbox"], row["part"]): row for row in json.loads(done.stdout)}


def findings(**environ: str) -> Rows:
    for tier in TIERS:
        why_not(tier)  # what works is found once, so not in this environment
    return rows_of(gem("doctor", "--format=json", env=environ))


@pytest.fixture(scope="module")
def found() -> subprocess.CompletedProcess[str]:
    """What the command finds here."""
    command = [sys.executable, "-m", "gem_core", "doctor", "--format=json"]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_the_table_names_every_sandbox_and_its_parts() -> None:
    said = gem("doctor", env={"COLUMNS": "200"}).stdout
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


def test_what_works_is_reported_as_working_and_the_status_is_0(
    found: subprocess.CompletedProcess[str], subtests: pytest.Subtests
) -> None:
    rows = rows_of(found)
    for name in ISOLATED:
        with subtests.test(name):
            require(name)
            if name == "docker":
                assert rows["docker", "engine"]["works"] is True
                assert rows["docker", "image gem-sandbox"]["works"] is True
            else:
                assert rows["warm", name.replace("warm-", "tier ")]["works"] is True
            assert found.returncode == 0


def test_a_provider_of_machines_works_if_a_machine_has_run_a_command(
    found: subprocess.CompletedProcess[str],
) -> None:
    rows = rows_of(found)
    assert rows["machines", "process"]["works"] is True
    assert rows["machines", "process"]["detail"] == "no isolation"
    local = rows["machines", "local"]
    assert local["detail"] == (why_not_local() or "isolated")
    assert local["works"] is not bool(why_not_local())


def test_without_user_namespaces_it_says_why_there_are_no_machines() -> None:
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", _NO_NAMESPACES, sys.executable]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if not done.stdout:
        pytest.skip("no user namespace can be made in which to forbid them")
    rows = rows_of(done)
    assert rows["machines", "local"]["works"] is False
    assert "unshare" in str(rows["machines", "local"]["detail"])
    assert "allow user namespaces" in str(rows["machines", "local"]["remedy"])
    assert rows["machines", "process"]["works"] is True
