"""The files of the generated shop's vocabulary: what is wrong in them is named with its place."""

import re
import shutil
from importlib.resources import files

import pytest

from gem_core.errors import DataError
from gem_web.sample.vocabulary import read_kinds, read_phrases

DATA = files("gem_web.sample") / "data"
JEANS = "wear.yaml, entry 3 (jeans | denim pants | denim trousers)"
FACET = f"{JEANS}, facets, entry 2 (with a {{}})"
MISTAKES = [
    (
        "wear.yaml",
        "tags: Denim",
        "tag: Denim",
        f"{JEANS}: unknown field 'tag'. Did you mean 'tags'?",
    ),
    ("wear.yaml", "  prices: [25, 80]\n", "", f"{JEANS}: without prices."),
    ("wear.yaml", "[25, 80]", "[80, 25]", f"{JEANS}, prices: expected the lowest and the highest"),
    ("wear.yaml", "    - fit\n", "    - fitt\n", "shared.yaml does not have 'fitt'. Did you mean"),
    (
        "food.yaml",
        "- nouns: green tea",
        "- nouns: jeans",
        "food.yaml, entry 1 (jeans | tea leaves | loose tea): 'jeans' is",
    ),
    ("wear.yaml", "Denim Pants | Rivet", "Denim Pants | | Rivet", f"{JEANS}, tags: expected text"),
    (
        "wear.yaml",
        "low waist: Low",
        "high waist: Low",
        "wear.yaml is not valid YAML: a name is there",
    ),
    ("wear.yaml", "low waist: Low", "low waist: Low: ", "wear.yaml is not valid YAML"),
    ("wear.yaml", "low waist: Low", "1: Low", f"{FACET}, qualities: expected text; got 1."),
    ("wear.yaml", "28 | 30 | 32 | 34 | 36 | 38 | 40 | 42", "28", "values: expected text; got 28."),
    ("shared.yaml", "name: scent", "nome: scent", "shared.yaml, choices, scents: unknown field"),
    (
        "shared.yaml",
        "  fit:\n",
        "  care:\n",
        "shared.yaml is not valid YAML: a name is there twice",
    ),
    ("phrases.yaml", "value | 4", "value | 6", "reviews, entry 2: expected 'title | 1 to 5 stars"),
    ("phrases.yaml", "frames:", "frame:", "phrases.yaml: unknown field 'frame'. Did you mean"),
]


@pytest.mark.slow
def test_a_mistake_is_named_with_its_file_and_entry(tmp_path, subtests):
    for name, right, wrong, message in MISTAKES:
        with subtests.test(f"{name}: {wrong}"):
            shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
            text = (DATA / name).read_text("utf-8")
            assert text.count(right) >= 1
            (tmp_path / name).write_text(text.replace(right, wrong, 1), "utf-8")
            with pytest.raises(DataError, match=re.escape(message)):
                read_phrases(tmp_path), read_kinds(tmp_path)
