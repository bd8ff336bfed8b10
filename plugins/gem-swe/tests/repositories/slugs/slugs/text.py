"""Texts."""


class SlugError(Exception):
    """No slug can be made."""


def words(text: str, shortest: int = 1) -> list[str]:
    """Return the words of at least `shortest` letters."""
    found = []
    current = ""
    for letter in text + " ":
        if letter.isalnum():
            current += letter
        elif current:
            if len(current) >= shortest:
                found.append(current)
            current = ""
    return found


def slug(text: str, limit: int = 20, sep: str = "-") -> str:
    """Return words in lower case joined by sep, of at most `limit` characters."""
    found = words(text)
    if not found:
        raise SlugError("no words")
    result = found[0].lower()
    for word in found[1:]:
        if len(result) + len(sep) + len(word) > limit:
            break
        result += sep + word.lower()
    return result
