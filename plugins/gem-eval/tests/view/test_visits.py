"""Visits to web pages in a real browser, drawn as a person would have seen them."""

import dataclasses
import re

import pytest
from selection import some, thorough
from shop_samples import GOAL, MOVES, PRODUCTS, WISH, shop_catalogue, shop_trajectory
from view_browser import PHONE, WIDE, chromium, go_to, serving, write_page
from view_samples import odd_trajectory

from gem_rollout import TrajectoryFile
from gem_web.product import Review

pytestmark = pytest.mark.slow
PLAYED = (
    ("text_rich", ()),
    ("text_rich", ("concat_with_action",)),
    ("text", ()),
    ("text", ("concat",)),
    ("html", ()),
    ("html", ("concat_with_action",)),
)
HOSTILE = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "</p></body></html><svg onload='window.hacked = 1'>",
    '" onmouseover="window.hacked = 1" style="color: red" x=\'',
    "</script><script>window.hacked = 1</script><!-- <script>",
    "a\x1b[31mred\u202eabc\u200b",
    "[button] x [button_] [SEP] [SEP] Instruction:",
    "__proto__",
)

MISFITS = (
    ("one [SEP] two", "000"),
    ("one [SEP] two [SEP] three", "00"),
    ("Instruction:\nbuy\n[button] a [button_]", "0122"),
    ("Instruction:\nbuy\n[button] a", "012"),
    ("buy\n[button] a [button_]", "012"),
    ("<!doctype html><html><body><p>a</p></body></html>", "00"),
    ({"text": "one", "images": []}, "0"),
    ("http://shop.test/", "2"),
    ("", "0"),
    ("some text", ""),
)
"""Observations, and kinds of pieces that they do not have."""


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Return a run with the same visit in every way of writing pages."""
    path = tmp_path_factory.mktemp("visits") / "run.jsonl"
    with TrajectoryFile(path) as file:
        for mode, wrappers in PLAYED:
            file.append(shop_trajectory(mode, wrappers=wrappers))
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return a run of a shop whose texts are all hostile, and its number of episodes."""
    path = tmp_path_factory.mktemp("hostile") / "run.jsonl"
    modes = ("text_rich", "text", "html")
    every = [(mode, text) for text in HOSTILE for mode in modes]
    one_each = [(modes[n % len(modes)], text) for n, text in enumerate(HOSTILE)]
    chosen = every if thorough() else one_each
    with TrajectoryFile(path) as file:
        for mode, text in chosen:
            file.append(_hostile_trajectory(mode, text))
    return path, len(chosen)


def _hostile_trajectory(mode, text):
    product = dataclasses.replace(
        PRODUCTS[0],
        title=text,
        description=text,
        price_tag=text,
        rating=text,
        features=(text, text),
        options={text: (text.lower(), "other")},
        reviews=(Review(text, 5.0, text),),
    )
    goal = dataclasses.replace(GOAL, instruction=text, attributes=(text,), options=(text.lower(),))
    moves = ["search[x hacked red]", "click[b000000041]"]
    for page in ("description", "features", "reviews"):
        moves += [f"click[{page}]", "click[< prev]"]
    moves += [f"click[{text.lower()}]", "click[buy now]"]
    catalogue = shop_catalogue([product, *PRODUCTS[1:3]], goal)
    trajectory = shop_trajectory(mode, moves, catalogue=catalogue, show_attrs=True)
    trajectory.reset_info["page"]["url"] += text
    return trajectory


@pytest.fixture(scope="module")
def browser(visits, hostile):  # the visits first: they use their own event loop
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(visits):
    with serving(visits) as server:
        yield server


def window(page, turn):
    """Return the window of a turn, from 1 on."""
    return page.get_by_role("region", name=f"Page of turn {turn}", exact=True)


class TestAVisit:
    """The pages and what was done there."""

    @pytest.fixture(scope="class")
    @classmethod
    def page(cls, open_page_for_class, server):
        """Show the visit."""
        return open_page_for_class(f"{server.url}#/episode/0-0")

    def test_a_search_page_shows_the_wish_and_the_words(self, page):
        """With the address, and a ring around the button."""
        first = window(page, 1)
        assert first.locator(".browser-url").inner_text().endswith("webshop.test/")
        assert WISH in first.locator(".shop-wish").inner_text()
        assert first.locator(".shop-field").inner_text().endswith("hiking backpack")
        assert re.match(r"Search\s*\(clicked\)", first.locator(".pressed").inner_text())

    def test_results_are_cards_with_title_and_price(self, page):
        """Those that were opened before are marked; the clicked one has a ring."""
        cards = window(page, 4).locator(".shop-card")
        assert cards.count() == 10
        assert "Alder & Co 20 L Hiking Backpack" in cards.nth(8).inner_text()
        assert "$64.00" in cards.nth(9).inner_text()
        assert "opened before" not in cards.nth(9).inner_text()
        assert cards.nth(9).get_attribute("class") == "shop-card pressed"
        assert cards.nth(9).locator(".thumbnail").text_content() == "NT"
        again = window(page, 8).locator(".shop-card").nth(9).inner_text()
        assert "opened before" in again

    def test_a_product_page_shows_price_stars_and_chosen_options(self, page):
        """And its further pages what they have."""
        product = window(page, 16)
        assert product.locator("h4").inner_text() == PRODUCTS[0].title
        assert product.locator(".shop-price").inner_text() == "$79.50"
        assert product.get_by_role("img", name="4.5 of 5 stars").count() == 1
        names = product.locator(".shop-option h5").all_inner_texts()
        assert names == ["color", "size"]
        chosen = product.locator(".chip.chosen").all_text_contents()
        assert chosen == ["ocean blue (chosen)"]
        assert "welded seams" in window(page, 13).locator("li").first.inner_text()
        assert "The sleeve holds" in window(page, 11).locator(".shop-prose").inner_text()
        review = window(page, 6).locator(".reviews li")
        assert review.get_by_role("img", name="4 of 5 stars").count() == 1

    def test_what_was_clicked_has_a_ring(self, page):
        """One on each page; what is not on the page is refused."""
        for turn, move in enumerate(MOVES, start=1):
            ring = window(page, turn).locator(".pressed").all_text_contents()
            if move == "click[add to cart]":
                assert ring == []
                refused = page.locator(f"#turn-{turn} .sight-aside").inner_text()
                assert "add to cart" in refused
                assert "not possible on this page" in refused
            elif move.startswith("click"):
                (text,) = ring
                assert move.removeprefix("click[").removesuffix("]") in text.lower()
                assert "(clicked)" in text

    def test_the_receipt_compares_what_was_wanted_and_bought(self, page):
        """The parts of the reward, and the sum that they make."""
        receipt = page.get_by_role("region", name="Receipt")
        rows = [row.locator("th, td").all_inner_texts() for row in receipt.locator("tr").all()]
        rows = [[" ".join(cell.split()) for cell in row] for row in rows]
        name = f"{PRODUCTS[0].title} B000000041"
        assert rows == [
            ["Part", "Wanted", "Bought", "Paid"],
            ["Kind of product", f"NT {name}", f"NT {name}", "1 of 1"],
            ["Attributes", "✓ waterproof ✓ laptop sleeve", "2 of 2"],
            ["Options", "✓ ocean blue ✗ 40 l", "color: ocean blue size: 30 l", "1 of 2"],
            ["Price", "at most $90.00", "$79.50", "1 of 1"],
        ]
        assert "1 \N{MULTIPLICATION SIGN} (2 + 1 + 1) / 5 = 0.80" in receipt.inner_text()

    def test_every_way_of_writing_pages_shows_the_same(self, open_page, server):
        """Also behind the history of the episode."""
        page = open_page(server.url)
        shown = []
        for number in range(len(PLAYED)):
            go_to(page, f"#/episode/0-{number}")
            assert page.locator(".browser-page > .text").count() == 0
            shown.append(page.locator(".browser-page").all_inner_texts())
        assert len(shown[0]) == len(MOVES) + 1
        for other in shown[1:]:
            assert other == shown[0]

    def test_the_turns_can_be_shown_instead(self, open_page, server):
        """The choice is in the URL and is kept for the next episode."""
        page = open_page(f"{server.url}#/episode/0-0")
        page.click(".segments >> text=Turns")
        page.wait_for_selector("h4:has-text('Observation')")
        assert "show=turns" in page.url
        assert page.locator(".browser").count() == 0
        page.click("text=Next")
        page.wait_for_selector("text=2 of 6")
        page.click(".segments >> text=Browser")
        page.wait_for_selector(".browser")

    def test_the_visit_can_be_used_by_keyboard_and_screen_reader(self, open_page, server):
        """Drawn buttons take no focus, as they do nothing; the texts of a turn can be opened."""
        page = open_page(f"{server.url}#/episode/0-0")
        inside = page.locator(".browser :is(a, button, input, [tabindex])")
        assert inside.count() == 0
        assert page.get_by_role("list", name="color").first.count() == 1
        summary = page.locator("#turn-2 summary", has_text="Observation as text")
        summary.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#turn-2 pre:has-text('[button] Back to Search [button_]')")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("text=2 of 6")

    @pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
    def test_nothing_is_wider_than_the_screen(self, open_page, server, size):
        """On a phone, the action is below the page."""
        page = open_page(f"{server.url}#/episode/0-0", size=size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        shown = window(page, 2).bounding_box()
        beside = page.locator("#turn-2 .sight-aside").bounding_box()
        assert (beside["y"] >= shown["y"] + shown["height"]) == (size is PHONE)

    def test_one_file_shows_the_same_as_the_server(self, open_page, server, visits, tmp_path):
        """Without a network."""
        alone = open_page(write_page(tmp_path / "page.html", visits), offline=True)
        served = open_page(server.url)
        for number in (0, 2, 4):
            for page in (alone, served):
                go_to(page, f"#/episode/0-{number}")
            assert alone.inner_text("main") == served.inner_text("main")


class TestOtherShapes:
    """What does not fit is shown as it is."""

    def test_texts_that_do_not_fit_the_kinds_are_shown_as_text(self, open_page, tmp_path):
        """Under the address of the page."""
        path = tmp_path / "run.jsonl"
        with TrajectoryFile(path) as file:
            for observation, kinds in MISFITS:
                page_info = {"url": "http://shop.test/", "kinds": kinds}
                odd = odd_trajectory("x", final_observation="x", reset_info={"page": page_info})
                odd.turns[0].observation = observation
                odd.turns[0].info = {"page": page_info, "purchase": {"reward": "x"}}
                file.append(odd)
        with serving(path) as server:
            page = open_page(server.url)
            for number, (observation, _) in enumerate(MISFITS):
                go_to(page, f"#/episode/0-{number}")
                shown = window(page, 1).locator("pre.text").text_content()
                assert shown == (observation if isinstance(observation, str) else "")
            page.locator("#turn-1 summary", has_text="Observation as text").click()
            page.wait_for_selector("#turn-1 .sight-aside details[open]")

    def test_other_values_of_the_same_name_are_shown_as_turns(self, open_page, tmp_path):
        """There is no choice of a browser."""
        values = (None, "x", {"url": 1, "kinds": "0"}, {"url": "u"})
        path = tmp_path / "run.jsonl"
        with TrajectoryFile(path) as file:
            for value in values:
                odd = odd_trajectory("x", reset_info={"page": {"url": "u", "kinds": "0"}})
                odd.turns[0].info = {"page": value}
                file.append(odd)
        with serving(path) as server:
            page = open_page(server.url)
            for number in range(len(values)):
                go_to(page, f"#/episode/0-{number}")
                assert page.locator("h4", has_text="Observation").count() == 1
                assert page.locator(".segments", has_text="Browser").count() == 0

    def test_a_page_of_no_known_kind_is_drawn_from_its_pieces(self, open_page, tmp_path):
        """Of any other site, too."""
        info = {"page": {"url": "http://news.test/today", "kinds": "01803256"}}
        trajectory = odd_trajectory("x", reset_info=info)
        trajectory.turns[0].observation = (
            "You have clicked two.\nInstruction:\nread\nThe news\nA line\n\n"
            "[button] a17 [button_]\n[button] More [button_]\n"
            "  [button] one [button_]\n  [clicked button] two [clicked button_]\n"
        )
        trajectory.turns[0].info = {**info, "parsed_action": "click[more]"}
        path = tmp_path / "run.jsonl"
        with TrajectoryFile(path) as file:
            file.append(trajectory)
        with serving(path) as server:
            page = open_page(f"{server.url}#/episode/0-0")
            shown = window(page, 1)
            assert shown.locator("h4").inner_text() == "The news"
            assert "a17" in shown.locator(".shop-card").inner_text()
            assert shown.locator(".pressed").text_content() == "More (clicked)"
            assert shown.locator(".chip").all_text_contents() == ["one", "two (chosen)"]


@pytest.mark.parametrize("mode", ["served", "one file"])
def test_texts_of_a_shop_are_never_executed(open_page, hostile, tmp_path, mode):
    """In titles, options, reviews, addresses and the wish, however the page is written."""
    path, count = hostile
    with serving(path) as server:
        page = open_page(
            server.url if mode == "served" else write_page(tmp_path / "page.html", path)
        )
        for number in range(count) if mode == "served" else some(range(count)):
            go_to(page, f"#/episode/0-{number}")
            page.wait_for_selector(".browser")
            assert page.locator("main :is(script, svg[onload], img, [onerror])").count() == 0
            assert page.locator("main :is([onmouseover], [style*=red])").count() == 0
            content = page.locator("main").text_content()
            for character in "\x1b\u202e\u200b":
                assert character not in content
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("({}).hacked") is None
