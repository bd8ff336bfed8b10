"""What a Dockerfile says about where and as whom commands run, and which ones are malformed."""

import pytest

from gem_core.errors import ConfigError
from gem_workers.dockerfile import needs_engine, read_dockerfile, user_of, workdir_of


@pytest.fixture
def steps(tmp_path):
    def read(text):
        (tmp_path / "Dockerfile").write_text(text)
        return read_dockerfile(tmp_path)

    return read


@pytest.mark.parametrize(
    ("text", "workdir", "user"),
    [
        ("FROM a", "", ""),
        ("FROM a\nWORKDIR /app\nUSER x:y", "/app", "x"),
        ("FROM a\nWORKDIR app", "", ""),
        ("FROM a\nWORKDIR $NOT_GIVEN\nUSER $NOT_GIVEN", "", ""),
        ("FROM a\nENV D=/srv U=me\nWORKDIR $D\nWORKDIR ../in\nUSER ${U}", "/in", "me"),
        ("FROM a AS one\nWORKDIR /one\nUSER me\nFROM b", "", ""),
        ("FROM a AS One\nWORKDIR /one\nUSER me\nFROM one\nWORKDIR two", "/one/two", "me"),
        ("FROM --platform=x a as one\nWORKDIR /one\nFROM --platform=x one", "/one", ""),
    ],
)
def test_the_last_stage_says_where_and_as_whom_commands_run(steps, text, workdir, user):
    assert (workdir_of(steps(text)), user_of(steps(text))) == (workdir, user)


def test_what_is_not_said_is_the_base_image_s(steps):
    found = steps("FROM a\nWORKDIR app\n")
    assert workdir_of(found, base="/") == "/app"
    assert user_of(found, base="root") == "root"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FROM a\nRUN", "line 2: RUN needs an argument"),
        ("FROM a\n\nCOPY x", "line 3: COPY needs a source and a destination"),
        ("FROM a\nADD 'x y", "line 2: the quotes of ADD do not match"),
        ('FROM a\nENV A="b', "line 2: the quotes of ENV do not match"),
        ("FROM a\nRUN cat <<EOF\nx\n EOF\n", "line 2: the here-document 'EOF' has no end"),
    ],
)
def test_a_malformed_instruction_is_named_with_its_line(steps, text, message):
    with pytest.raises(ConfigError, match=f"Dockerfile, {message}"):
        steps(text)


def test_a_quote_is_text_in_the_older_form_of_env(steps):
    assert workdir_of(steps("FROM a\nENV D /it's\nWORKDIR $D\n")) == "/it's"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("RUN <<EOF\nRUN=1\n\n# no comment\nEOF", "RUN=1\n\n# no comment\n"),
        ("RUN cat > /a << 'EOF'\nFROM x\nEOF", "cat > /a << 'EOF'\nFROM x\nEOF"),
        ("RUN cat <<-E\n\t\tx\n\tE", "cat <<-E\nx\nE"),
        ("RUN cat <<A <<B && \\\n true\na\nA\nb\nB", "cat <<A <<B &&  true\na\nA\nb\nB"),
        (
            "RUN echo '<<EOF' $((1<<A)) $((1 << 2)) <<< b",
            "echo '<<EOF' $((1<<A)) $((1 << 2)) <<< b",
        ),
        ("RUN --mount=type=cache,target=/c apt-get update", "apt-get update"),
    ],
)
def test_a_shell_gets_the_text_and_its_here_documents(steps, text, command):
    _, step, after = steps(f"FROM a\n{text}\nUSER me\n")
    assert (step.command, after.name, needs_engine(step)) == (command, "USER", "")


def test_lines_are_joined_without_a_change_of_what_is_in_them(steps):
    lines = ["RUN printf 'if a:\\n\\", "    b\\n\\  ", "# no text", "", "c\\n' > /x\\\\", "USER me"]
    _, step, after = steps("\n".join(["FROM a", *lines]))
    assert step.arguments == "printf 'if a:\\n    b\\nc\\n' > /x\\\\"
    assert (after.name, after.line) == ("USER", 7)
