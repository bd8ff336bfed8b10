import pytest

from gem_core.errors import ConfigError
from gem_serve.harness.errors import ProgramMissingError
from gem_serve.harness.program import GatewayAddress, folders_of, path_of, run_program
from gem_serve.harness.recipe import Recipe

GATEWAY = GatewayAddress("http://127.0.0.1:9/e/1/v1", "tiny")


def bash(script, **fields):
    return Recipe(program="bash", arguments=("-c", script), dialect="chat", **fields)


def run(machine, recipe, instruction="Do it.", timeout=60, **options):
    return run_program(machine, recipe, instruction, GATEWAY, timeout=timeout, **options)


@pytest.mark.slow
def test_a_program_is_told_the_url_the_model_and_the_instruction(machine):
    recipe = Recipe(
        program="{home}/tool",
        arguments=("{instruction}",),
        dialect="chat",
        env={"URL": "{api}", "MODEL": "{model}"},
        files={"conf/model": "{model}"},
        executables={"tool": '#!/bin/bash\necho "$1|$URL|$MODEL|$(cat ~/conf/model)|$PWD"\n'},
    )
    done = run(machine, recipe, "Say 'it' with $HOME\nand \"quotes\"")
    said, url, *rest = done.stdout.rstrip("\n").split("|")
    assert said == "Say 'it' with $HOME\nand \"quotes\""
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/e/1/v1")
    assert rest == ["tiny", "tiny", "/app"]
    assert (done.program, done.status, done.exit_status) == ("tool", "ended", 0)


@pytest.mark.slow
def test_the_home_directory_is_removed_and_the_next_run_has_another_one(machine):
    first = run(machine, bash("echo secret > ~/left; echo $HOME"), timeout=60)
    second = run(machine, bash("ls -A ~; echo $HOME"))
    home = first.stdout.strip()
    assert second.stdout.strip() != home
    assert "left" not in second.stdout
    assert machine.run(f"ls {home}").exit_status != 0


@pytest.mark.slow
def test_the_gateway_is_the_only_network(machine):
    script = "cat /proc/net/dev | tail -n +3; echo x > /dev/tcp/198.51.100.1/80"
    done = run(machine, bash(script))
    assert [line.split(":")[0].strip() for line in done.stdout.splitlines()] == ["lo"]
    assert "unreachable" in done.stderr


def test_a_program_that_exits_with_a_status_has_failed(machine):
    done = run(machine, bash("echo no >&2; exit 7"))
    assert (done.status, done.exit_status, done.stderr) == ("failed", 7, "no\n")


@pytest.mark.slow
def test_all_processes_are_killed_at_the_deadline_even_if_they_left_the_tree(machine):
    script = "setsid nohup sleep 1000 >/dev/null 2>&1 & (sleep 1000 &) ; echo begun; sleep 1000"
    for seconds in (1, 10, 100):  # a busy machine needs longer until it prints
        done = run(machine, bash(script), timeout=seconds)
        if done.stdout:
            break
    assert (done.status, done.stdout) == ("timeout", "begun\n")
    assert machine.processes() == []


@pytest.mark.slow
def test_garbage_that_a_program_prints_is_kept_as_text_and_cut_in_the_middle(machine):
    script = r"printf '\xff\x00\x1b[31mred\x1b[0m'; head -c 100000 /dev/zero | tr '\0' x; echo end"
    done = run(machine, bash(script), output_limit=1000)
    assert done.stdout.startswith("�\x00red")
    assert done.stdout.endswith("end\n")
    assert len(done.stdout) < 2000


@pytest.mark.slow
def test_a_missing_program_is_named_with_the_way_to_get_it(machine):
    recipe = Recipe(program="no-such-tool", dialect="chat", install="npm install -g tool")
    with pytest.raises(ProgramMissingError, match=r"no-such-tool.*npm install -g tool.*--programs"):
        run(machine, recipe)
    assert machine.run("ls -A /home").stdout == ""


@pytest.mark.slow
def test_a_program_that_a_user_without_rights_runs_can_use_its_home(provider):
    from gem_workers.machine import MachineSpec

    with provider.start(MachineSpec(workdir="/tmp")) as machine:
        if machine.run("true", user="nobody").exit_status:
            pytest.skip("machines have other users only if root starts them")
    with provider.start(MachineSpec(workdir="/tmp", user="nobody")) as machine:
        done = run(machine, bash("id -un; touch ~/mine && cat ~/conf", files={"conf": "read"}))
    assert done.stdout == "nobody\nread"


def test_a_machine_on_which_nothing_can_listen_is_refused():
    class Other:
        pass

    with pytest.raises(ConfigError, match="Other has no method listen"):
        run(Other(), bash("true"))


def test_an_address_that_is_not_a_gateway_is_refused(machine):
    with pytest.raises(ConfigError, match="begins with http://"):
        run_program(machine, bash("true"), "", GatewayAddress("localhost:80", "tiny"), timeout=1)


def test_an_instruction_that_no_program_can_be_given_is_refused(machine):
    recipe = Recipe(program="echo", arguments=("{instruction}",), dialect="chat")
    with pytest.raises(ConfigError, match="at most 131071 bytes; got 200000"):
        run(machine, recipe, "x" * 200_000)


def test_the_interpreter_of_a_virtual_environment_is_a_folder_too(tmp_path):
    (tmp_path / "pyvenv.cfg").write_text("home = /opt/python/bin\nversion = 3.12\n")
    assert folders_of([str(tmp_path)]) == [str(tmp_path), "/opt/python"]
    assert path_of(["/a"]).startswith("/a:/a/bin:/a/node_modules/.bin:/usr/local/sbin:")
    with pytest.raises(ConfigError, match="no folder /no/such"):
        folders_of(["/no/such"])
