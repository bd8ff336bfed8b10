"""Catalogues that others have made."""

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from small_shop import public_item, small_shop, write_public_files

from gem_core.errors import DataError
from gem_web.product import Goal
from gem_web.readers import find_source, json_stream
from gem_web.readers.json_stream import items_of
from gem_web.readers.public import split_goals

few = settings(max_examples=100 if thorough() else 25)


def read(folder, **options):
    source = find_source(folder, **options)
    return list(source.products()), source.goals()


def all_goals(goals):
    return [goal for listed in goals.values() for goal in listed]


def test_an_item_of_webshop_becomes_a_product(tmp_path):
    attributes = {"B01": {"attributes": ["bright light"]}}
    (product,), goals = read(write_public_files(tmp_path / "d", [public_item()], attributes))
    assert (product.asin, product.title, product.query) == ("B01", "Blue Lamp", "lamp")
    assert product.options == {"color": ("navy | blue",)}
    assert product.attributes == ("bright light",)
    assert product.image == "http://images.test/1.jpg"
    assert all_goals(goals) == []


@pytest.mark.parametrize(
    ("pricing", "tag", "low", "high"),
    [
        ("$10.50", "$10.5", 10.5, 10.5),
        ("$10.00$20.00", "$10.0 to $20.0", 10, 20),
        ("$1,200", "$1200.0", 1200, 1200),
        ("$1$2$3", "$1.0 to $2.0", 1, 2),
        ("", "$100.0", 100, 100),
        (None, "$100.0", 100, 100),
        ("free", "$100.0", 100, 100),
    ],
)
def test_prices_are_read_and_ranges_drawn_by_the_asin(tmp_path, pricing, tag, low, high):
    folder = write_public_files(tmp_path / "d", [public_item(pricing=pricing)])
    (product,), _ = read(folder)
    assert product.price_tag == tag
    assert low <= product.price <= high
    assert read(folder)[0][0].price == product.price


def test_items_with_long_or_repeated_asins_are_skipped(tmp_path):
    items = [public_item(asin) for asin in ("B01", "nan", "B0123456789", "B01", "b01", "B02")]
    products, _ = read(write_public_files(tmp_path / "d", items))
    assert [product.asin for product in products] == ["B01", "B02"]


def test_missing_texts_and_options_are_empty(tmp_path):
    item = public_item(
        full_description=None,
        small_description=None,
        customization_options={"Size": None, "Color": []},
        images=[],
    )
    (product,), _ = read(write_public_files(tmp_path / "d", [item]))
    assert (product.description, product.features, product.image) == ("", (), "")
    assert product.options == {"color": ()}


def test_goals_that_people_wrote_have_a_limit_above_the_price(tmp_path):
    people = {
        "B01": [
            {
                "instruction": "I want a lamp.",
                "instruction_attributes": ["bright"],
                "instruction_options": ["navy"],
            },
            {"instruction": "No attributes", "instruction_attributes": []},
        ]
    }
    folder = write_public_files(tmp_path / "d", [public_item()], people=people)
    (goal,) = all_goals(read(folder)[1])
    assert goal.instruction.startswith("I want a lamp, and price lower than ")
    assert goal.instruction.endswith(f"{goal.price_upper:.2f} dollars")
    assert 10.5 < goal.price_upper <= 50
    assert (goal.attributes, goal.options, goal.weight) == (("bright",), ("navy",), 1)


def test_made_goals_combine_options_and_weigh_rare_attributes_more(tmp_path):
    options = {
        "Size": [{"value": "S"}, {"value": "L"}],
        "Color": [{"value": "red"}, {"value": "blue"}],
    }
    about = {"instruction": "find a lamp", "instruction_attributes": ["bright"]}
    rare = {"instruction": "find a lamp", "instruction_attributes": ["tiny"]}
    items = [
        public_item("B01", customization_options=options),
        public_item("B02", customization_options=""),
    ]
    folder = write_public_files(tmp_path / "d", items, {"B01": about, "B02": rare})
    goals = all_goals(read(folder, synthetic=True)[1])
    by_options = {goal.options: goal for goal in goals}
    assert set(by_options) == {("red", "s"), ("red", "l"), ("blue", "s"), ("blue", "l"), ()}
    assert "with color: red, and size: s, and price" in by_options["red", "s"].instruction
    assert {goal.weight for goal in goals if goal.asin == "B01"} == {0.25}
    assert by_options[()].weight == 1


def test_an_item_without_a_price_below_1000_has_no_limit(tmp_path):
    about = {"instruction": "find a lamp", "instruction_attributes": ["bright"]}
    item = public_item(pricing="$2,000", customization_options="")
    folder = write_public_files(tmp_path / "d", [item], {"B01": about})
    (goal,) = all_goals(read(folder, synthetic=True)[1])
    assert (goal.instruction, goal.price_upper) == ("find a lamp", 1_000_000)


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(4000, {"test": 500, "dev": 1000, "train": 2500}), (100, {"test": 25, "train": 75})],
)
def test_goals_are_split_in_a_fixed_order(count, sizes):
    goals = [Goal(str(n), "x", ("a",)) for n in range(count)]
    split = split_goals(goals)
    assert {name: len(listed) for name, listed in split.items()} == sizes
    assert sorted(int(goal.asin) for goal in all_goals(split)) == list(range(count))
    assert split == split_goals(goals)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"asin": "B1"}], "item 0: name: Field required"),
        ([public_item(), {**public_item("B02"), "images": 3}], "item 1: images"),
        ({"asin": "B1"}, "is not a JSON array"),
    ],
)
def test_a_wrong_item_is_named(tmp_path, items, message):
    with pytest.raises(DataError, match=message):
        read(write_public_files(tmp_path / "d", items))


def test_a_file_that_is_cut_off_is_named(tmp_path):
    folder = write_public_files(tmp_path / "d", [public_item(), public_item("B02")])
    path = folder / "items_shuffle.json"
    path.write_text(path.read_text()[:-20])
    with pytest.raises(DataError, match="cut off"):
        read(folder)


@pytest.mark.slow
@few
@given(
    st.lists(st.recursive(st.integers() | st.text(), lambda of: st.lists(of, max_size=3))),
    st.integers(1, 9),
    st.sampled_from([None, 2]),
)
def test_an_array_is_read_item_by_item(tmp_path_factory, items, chunk, indent):
    path = tmp_path_factory.getbasetemp() / "array.json"
    path.write_text(json.dumps(items, indent=indent), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_CHUNK", chunk)
        assert list(items_of(path)) == items


def test_lines_of_anybodys_shop_are_read(tmp_path):
    shop = small_shop()
    write_lines(tmp_path / "products.jsonl", [asdict(one) for one in shop.products])
    for split in shop.splits:
        goals = [asdict(one) for one in shop.goals(split).tasks]
        write_lines(tmp_path / f"goals_{split}.jsonl", goals)
    products, goals = read(tmp_path)
    assert [asdict(one) for one in products] == [asdict(one) for one in shop.products]
    assert {split: len(listed) for split, listed in goals.items()} == {"train": 3, "test": 1}


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"asin": "B1"}', "line 1: title: Field required"),
        ('{"asin": "B1", "title": "x", "prise": 1}', "no field 'prise'; there are"),
        ('{"asin": "B1", "title": "x", "price": "dear"}', "line 1: price"),
        ("[1]", "line 1"),
        ("{", "line 1"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    (tmp_path / "products.jsonl").write_text(line)
    (tmp_path / "goals_train.jsonl").write_text("")
    with pytest.raises(DataError, match=message):
        read(tmp_path)


def test_a_shop_without_goals_is_refused(tmp_path):
    write_lines(tmp_path / "products.jsonl", [{"asin": "B1", "title": "x"}])
    with pytest.raises(DataError, match="no file goals_<split>"):
        read(tmp_path)


COLUMNS = (
    "asin name full_description pricing images product_category average_rating small_description "
    "title description reviews rating bullet_points price options option_to_image attributes "
    "instruction_text instruction_attributes main_image category query page"
)
GOALS = (
    "idx asin category query name product_category instruction_text attributes price_upper "
    "goal_options weight"
)


def test_the_database_of_gem_llm_is_read(tmp_path):
    database = sqlite3.connect(tmp_path / "webshop.db")
    product = {
        "asin": "b01",
        "title": "Lamp",
        "pricing": 9.5,
        "price": "$9.0 to $10.0",
        "bullet_points": '["bright"]',
        "options": '{"color": ["red"]}',
        "attributes": '["bright light"]',
        "reviews": '[{"title": "Good", "score": 5, "body": "Yes"}]',
    }
    goal = {
        "idx": 0,
        "asin": "b01",
        "name": "Lamp",
        "instruction_text": "find a lamp",
        "attributes": '["bright"]',
        "price_upper": 20,
        "goal_options": '{"color": "red"}',
        "weight": 2,
    }
    insert(database, "all_products", COLUMNS, product)
    insert(database, "goals_train", GOALS, goal)
    insert(database, "goals_test", GOALS, goal)
    database.close()
    (found,), goals = read(tmp_path)
    assert (found.asin, found.price, found.price_tag) == ("B01", 9.5, "$9.0 to $10.0")
    assert found.options == {"color": ("red",)}
    assert found.reviews[0].score == 5
    assert [len(listed) for listed in goals.values()] == [1, 1]
    assert (goals["train"][0].options, goals["train"][0].weight) == (("red",), 2)


def insert(database, table, columns, row):
    names = columns.split()
    database.execute(f"CREATE TABLE {table} ({', '.join(names)})")
    marks = ", ".join("?" * len(names))
    insertion = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - our own names
    database.execute(insertion, [row.get(name) for name in names])
    database.commit()


def test_a_folder_may_be_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sqlite3.connect("webshop.db").close()
    with pytest.raises(DataError, match="no such table"):
        read(Path())


def test_a_database_without_the_tables_is_named(tmp_path):
    sqlite3.connect(tmp_path / "webshop.db").close()
    with pytest.raises(DataError, match="no such table: all_products"):
        read(tmp_path)


def test_a_folder_with_nothing_to_read_says_what_it_has(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"products.jsonl. It contains: notes.txt"):
        find_source(tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        find_source(tmp_path / "nowhere")
