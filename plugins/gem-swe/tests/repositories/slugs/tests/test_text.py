from collections.abc import Callable

from slugs import Counter, slug, words


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def test_words_are_split() -> None:
    assert words("a bc, d") == ["a", "bc", "d"]
    assert words("") == []


def test_short_words_are_left_out() -> None:
    assert words("a bc def", 2) == ["bc", "def"]
    assert words("a bc def", shortest=3) == ["def"]


def test_slug() -> None:
    assert slug("A  B") == "a-b"
    assert slug("Hello, World") == "hello-world"


def test_limit() -> None:
    assert slug("abc def ghi", 7) == "abc-def"
    assert slug("abc def ghi", 6) == "abc"


def test_empty() -> None:
    assert raised(lambda: slug("")) == "SlugError"
    assert raised(lambda: slug("--")) == "SlugError"


def test_unique() -> None:
    counter = Counter()
    assert counter.unique("a") == "a"
    assert counter.unique("a") == "a-2"
    assert counter.unique("A") == "a-3"
    assert counter.unique("b") == "b"


def test_start() -> None:
    counter = Counter(5)
    counter.unique("x")
    assert counter.unique("x") == "x-5"
    assert counter.unique("x") == "x-6"
