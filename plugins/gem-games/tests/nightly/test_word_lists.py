"""The word lists are those that their script makes."""

import importlib.util
from pathlib import Path

from needs import needs

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_words.py"


def test_the_script_generates_the_shipped_files():
    needs("english_words")
    needs("wordfreq")
    module_spec = importlib.util.spec_from_file_location("make_words", SCRIPT)
    script = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(script)
    for name, made in zip(("common", "long"), script.make_lists(), strict=True):
        shipped = (script.DATA / f"{name}_words.txt").read_text(encoding="ascii")
        assert shipped.split() == made
