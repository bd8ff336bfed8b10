"""What a Dockerfile says about where and as whom commands run, and which ones are malformed."""

import pytest

from gem_core.errors import ConfigError
from gem_workers.dockerfile import read_dockerfile, user_of, workdir_of


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
    ],
)
def test_a_malformed_instruction_is_named_with_its_line(steps, text, message):
    with pytest.raises(ConfigError, match=f"Dockerfile, {message}"):
        steps(text)


def test_a_quote_is_text_in_the_older_form_of_env(steps):
    assert workdir_of(steps("FROM a\nENV D /it's\nWORKDIR $D\n")) == "/it's"
