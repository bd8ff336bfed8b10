"""A page says the same in every mode."""

import pytest
from bs4 import BeautifulSoup, NavigableString
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_web.pages import (
    RENDERERS,
    SUB_PAGES,
    Kind,
    clickables,
    done_page,
    item_page,
    results_page,
    search_page,
    sub_page,
)
from gem_web.product import Product, Review

WORDS = st.text("ab<>&\"'é日 \n{}[]", max_size=12)
few = settings(max_examples=100 if thorough() else 20)
VALUES = st.lists(WORDS.map(str.lower).map(str.strip).filter(bool), max_size=4, unique=True)
PRODUCTS = st.builds(
    Product,
    asin=st.text("ABC123", min_size=10, max_size=10),
    title=WORDS,
    description=WORDS,
    features=st.lists(WORDS, max_size=3).map(tuple),
    options=st.dictionaries(st.sampled_from(["color", "size", "a & b"]), VALUES.map(tuple)),
    attributes=st.lists(WORDS, max_size=3).map(tuple),
    query=WORDS,
    reviews=st.lists(st.builds(Review, WORDS, st.just(4.0), WORDS), max_size=2).map(tuple),
)


@st.composite
def pages(draw):
    instruction = draw(st.text("find a <b> & é", min_size=1).filter(str.strip))
    product = draw(PRODUCTS)
    chosen = {name: values[0] for name, values in product.options.items() if values}
    kind = draw(st.sampled_from(["search", "results", "item", *SUB_PAGES]))
    if kind == "search":
        return search_page(instruction)
    if kind == "results":
        return results_page(instruction, [product], draw(st.integers(1, 3)), 21, {product.asin})
    if kind == "item":
        return item_page(instruction, product, chosen, show_attributes=draw(st.booleans()))
    return sub_page(instruction, product, kind)


def soup_of(page):
    return BeautifulSoup(RENDERERS["html"](page), "html.parser")


def shown(page):
    return [text for kind, text in page if kind is not Kind.BOX]


@pytest.mark.slow
@few
@given(pages())
def test_the_source_shows_the_pieces_of_the_page(page):
    soup = soup_of(page)
    soup.head.decompose()
    texts = [str(text) for text in soup.find_all(string=True) if type(text) is NavigableString]
    assert [text for text in texts if text != "\n"] == shown(page)


@pytest.mark.slow
@few
@given(pages())
def test_the_source_offers_what_can_be_clicked(page):
    soup = soup_of(page)
    found = [one.get_text().lower() for one in soup.find_all(class_="btn")]
    found += [one.get_text().lower() for one in soup.find_all(class_="product-link")]
    found += [one["value"] for one in soup.select('input[type="radio"]')]
    assert list(dict.fromkeys(found)) == list(clickables(page))
    assert bool(soup.find(id="search_input")) == any(kind is Kind.BOX for kind, _ in page)


@pytest.mark.slow
@few
@given(pages())
def test_the_text_is_what_follows_the_instruction(page):
    pieces = shown(page)
    start = next(n for n, (kind, _) in enumerate(page) if kind is Kind.INSTRUCTION) + 1
    expected = [text.strip() for text in pieces[start:]]
    assert RENDERERS["text"](page) == " [SEP] ".join(expected)


@pytest.mark.slow
@few
@given(pages())
def test_the_rich_text_has_every_piece_and_marks_what_can_be_clicked(page):
    text = RENDERERS["text_rich"](page)
    assert all(piece in text for piece in shown(page))
    marked = sum(kind in {Kind.CHOSEN, Kind.VISITED} for kind, _ in page)
    assert text.count("[clicked button_]") == marked
    assert text.count("You have clicked") == sum(kind is Kind.CHOSEN for kind, _ in page)


def test_an_item_page_reads_as_the_original_does():
    lamp = Product(
        asin="B000000001", title="Lamp", price_tag="$9.5", options={"color": ("red", "blue")}
    )
    page = item_page("find a lamp", lamp, {"color": "blue"}, show_attributes=False)
    assert RENDERERS["text"](page) == (
        "Back to Search [SEP] < Prev [SEP] color [SEP] red [SEP] blue [SEP] Lamp [SEP] "
        "Price: $9.5 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] "
        "Buy Now"
    )
    assert RENDERERS["text_rich"](page) == (
        "You have clicked blue.\n"
        "Instruction:\nfind a lamp\n"
        "[button] Back to Search [button_]\n[button] < Prev [button_]\n"
        "color\n  [button] red [button_]\n  [clicked button] blue [clicked button_]\n"
        "Lamp\nPrice: $9.5\nRating: N.A.\n"
        "[button] Description [button_]\n[button] Features [button_]\n"
        "[button] Reviews [button_]\n[button] Buy Now [button_]\n"
    )


@pytest.mark.parametrize(("number", "buttons"), [(1, ["next >"]), (2, ["< prev", "next >"])])
def test_only_later_pages_of_results_lead_back(number, buttons):
    page = results_page("x", [], number, 0, set())
    assert list(clickables(page)) == ["back to search", *buttons]


def test_the_last_page_tells_the_score():
    assert RENDERERS["text"](done_page(0.75)).endswith("[SEP] 0.75")
