"""A shop of a few products, made by hand."""

import functools
import json

from gem_web.catalogue import Catalogue
from gem_web.env import WebshopEnv
from gem_web.product import Goal, Product, Review

NAMES = ("Orlo Shirt", "Vemba Shirt", "Orlo Mug")


@functools.cache
def small_shop():
    """Return a catalogue of 24 shirts and a mug."""
    shirts = [_shirt(number) for number in range(24)]
    mug = Product(
        asin="B0000000MU",
        title="Orlo Mug",
        query="mug",
        product_category="Kitchen › Cups",
        attributes=("dishwasher safe",),
    )
    products = [*shirts, mug]
    goals = [_goal(shirts[number], number) for number in range(4)]
    return Catalogue.of(products, {"train": goals[:3], "test": goals[3:]})


def _shirt(number):
    return Product(
        asin=f"B{number:09d}",
        title=f"{NAMES[number % 2]} {number}",
        description="A shirt for every day.",
        features=("machine wash", "soft cotton"),
        price=10.0 + number,
        price_tag=f"${10.0 + number}",
        options={"color": ("red", "sky blue"), "size": ("small", "x-large")},
        attributes=("machine washable", "long sleeve"),
        category="fashion",
        query="shirt",
        product_category="Clothing › Shirts › Casual",
        reviews=(Review("Good", 4.0, "It fits."),),
    )


def _goal(product, number):
    return Goal(
        asin=product.asin,
        instruction=f"i want a machine washable red shirt in x-large, number {number}",
        attributes=("machine washable",),
        options=("red", "x-large"),
        price_upper=40.0,
        name=product.title,
        query=product.query,
        product_category=product.product_category,
        weight=1.0 + number,
    )


def small_env(**options):
    """Return an environment of the small shop."""
    return WebshopEnv(**{"data": small_shop(), **options})


def do(env, *actions):
    """Take actions, written without a box; return the last step."""
    for action in actions:
        step = env.step(f"\\boxed{{{action}}}")
    return step


def write_public_files(folder, items, attributes=None, people=None):
    """Write the files of WebShop."""
    folder.mkdir(exist_ok=True)
    for name, value in (
        ("items_shuffle", items),
        ("items_ins_v2", attributes or {}),
        ("items_human_ins", people or {}),
    ):
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return folder


def public_item(asin="B01", **fields):
    """Return a product as WebShop's files have it."""
    return {
        "asin": asin,
        "name": "Blue Lamp",
        "category": "garden",
        "query": "Lamp ",
        "product_category": "Home › Lamps",
        "full_description": "A lamp.",
        "small_description": ["bright", "light"],
        "pricing": "$10.50",
        "images": ["http://images.test/1.jpg"],
        "customization_options": {"Color": [{"value": " Navy/Blue ", "image": None}]},
        **fields,
    }
