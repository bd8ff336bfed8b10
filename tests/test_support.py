"""What tests stand on: skips that give their reason, and processes that end with their test."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from needs import ENGINES, PACKAGES

ROOT = Path(__file__).parents[1]


@pytest.fixture
def run_tests(tmp_path):
    """Return a function that runs a test module with the repository's own set-up."""

    def run(text, *, name="test_it.py", start="exec", options="", **environ):
        (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
        (tmp_path / "pyproject.toml").write_text(
            f"[tool.pytest.ini_options]\npythonpath = [{str(ROOT / 'tests/support')!r}]\n"
        )
        (tmp_path / name).write_text(textwrap.dedent(text))
        command = f'{start} "{sys.executable}" -m pytest -p no:cacheprovider -ra {options} {name}'
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def no_torch(tmp_path, monkeypatch):
    """A folder in PYTHONPATH that has torch be missing, wherever the tests run."""
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['torch'] = None\n")
    return {"PYTHONPATH": str(tmp_path)}


AT_THE_TOP = "import torch\ndef test_it(): pass\n"
IN_A_TEST = """
    from needs import needs
    def test_it():
        needs("torch")
"""


@pytest.mark.parametrize("text", [AT_THE_TOP, IN_A_TEST])
def test_a_test_is_skipped_where_a_package_is_missing_and_says_which(run_tests, no_torch, text):
    code, shown = run_tests(text, **no_torch)
    assert "torch is not installed: pip install torch" in shown
    assert "1 skipped" in shown
    assert code in (0, 5)  # 5: there was nothing else


@pytest.mark.parametrize("text", [AT_THE_TOP, IN_A_TEST])
@pytest.mark.parametrize("required", ["torch", "peft, torch", "all"])
def test_what_is_required_and_missing_is_a_failure(run_tests, no_torch, text, required):
    code, shown = run_tests(text, **no_torch, GEM_TEST_REQUIRE=required)
    assert code in (1, 2)
    assert "GEM_TEST_REQUIRE names torch" in shown


def test_a_name_that_requires_nothing_is_an_error(run_tests):
    code, shown = run_tests("def test_it(): pass", GEM_TEST_REQUIRE="tocrh")
    assert code == 4
    assert "GEM_TEST_REQUIRE has unknown names: tocrh. It accepts all, accelerate, " in shown


def test_a_module_of_ours_that_is_missing_is_an_error(run_tests):
    code, shown = run_tests("import gem_core.nothing\ndef test_it(): pass\n")
    assert code == 2
    assert "No module named 'gem_core.nothing'" in shown


def test_what_can_be_required_is_in_the_documentation():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert [name for name in (*PACKAGES, *ENGINES) if f"`{name}`" not in page] == []


def test_the_quick_choice_leaves_out_parameters_and_says_so(run_tests):
    text = """
        import pytest

        @pytest.mark.parametrize("number", range(20))
        def test_it(number):
            assert number in (0, 6, 12, 19)
    """
    _, shown = run_tests(text, options="--quick")
    assert "4 passed" in shown
    assert "4 tests selected; left out: 0 slow tests and 16 more cases" in shown


def test_some_cases_of_a_thorough_test_run_and_all_if_asked_for(run_tests):
    text = """
        import pytest

        @pytest.mark.thorough
        @pytest.mark.parametrize("number", range(20))
        def test_it(number):
            assert number in (0, 6, 12, 19)

        @pytest.mark.parametrize("number", range(20))
        def test_other(number): pass
    """
    _, shown = run_tests(text)
    assert "24 passed" in shown
    assert "16 more cases run with --thorough." in shown
    _, shown = run_tests(text, options="--thorough")
    assert "16 failed, 24 passed" in shown


def test_what_is_skipped_is_written_for_pytest_to_run_later(run_tests, no_torch, tmp_path):
    run_tests(f"{IN_A_TEST}    def test_other(): pass", options="--write-skipped=file", **no_torch)
    assert (tmp_path / "file").read_text() == "test_it.py::test_it\n"


STAYS = """
    import os, sys
    from pathlib import Path
    from commands import Command

    CODE = "import time; print('up', flush=True); time.sleep(300)"

    def test_first():
        process = Command([sys.executable, "-c", CODE], stdout=-1)
        assert process.stdout.readline()
        Path("pid").write_text(str(process.pid))
        assert {outcome}

    def test_then():
        assert not Path("/proc", Path("pid").read_text()).exists()
"""


@pytest.mark.parametrize("outcome", [True, False])
def test_a_process_ends_with_its_test_however_that_ends(run_tests, outcome):
    _, shown = run_tests(STAYS.format(outcome=outcome))
    assert ("2 passed" if outcome else "1 failed, 1 passed") in shown


def test_ctrl_c_ends_processes_of_tests_that_were_started_deaf_to_it(run_tests):
    text = """
        import signal, sys
        from commands import Command

        # A long sleep may miss a signal that arrives just before it.
        CODE = "import time; print('up', flush=True)\\nwhile True: time.sleep(0.1)"

        def test_it():
            process = Command([sys.executable, "-c", CODE], stdout=-1, stderr=-1)
            assert process.stdout.readline()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
            assert process.returncode == -signal.SIGINT
    """
    _, shown = run_tests(text, start="trap '' INT; exec")
    assert "1 passed" in shown
