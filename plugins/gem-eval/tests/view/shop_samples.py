"""Visits to a small shop to look at, in every mode of observation."""

from gem_core import make
from gem_core.agent import ScriptedAgent
from gem_rollout import collect
from gem_web.catalogue import Catalogue
from gem_web.product import Goal, Product, Review

WISH = (
    "I need a waterproof hiking backpack with a laptop sleeve, in ocean blue and of 40 litres, "
    "and price lower than 90.00 dollars"
)
_PATH = "Sports & Outdoors \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} Backpacks"


def _product(number, title, price, **more):
    return Product(
        asin=f"B0{number:08}",
        title=title,
        price=price,
        price_tag=f"${price:.2f}",
        query="hiking backpack",
        product_category=_PATH,
        category="fashion",
        **more,
    )


PRODUCTS = (
    _product(
        41,
        "Northfell Trail 40 Waterproof Hiking Backpack with Laptop Sleeve",
        79.5,
        description="A backpack for long days in bad weather. The seams are welded.\n"
        "The sleeve holds a laptop of 15 inches.",
        features=("welded seams", "laptop sleeve of 15 inches", "rain cover & whistle"),
        options={
            "color": ("forest green", "ocean blue", "sunset orange", "black"),
            "size": ("30 l", "40 l", "55 l"),
        },
        attributes=("waterproof", "laptop sleeve"),
        rating="4.5",
        reviews=(
            Review("Dry after a week of rain", 5.0, "Everything inside stayed dry."),
            Review("Good, but heavy", 3.5, "It is solid.\nThe straps took time to soften."),
        ),
    ),
    _product(
        42,
        "Northfell Trail 40 Hiking Backpack, Lightweight",
        64.0,
        options={"color": ("ocean blue", "black"), "size": ("30 l", "40 l")},
        attributes=("lightweight",),
        rating="4.1",
        reviews=(Review("Light", 4.0, "I forget that I wear it."),),
    ),
    _product(
        43,
        "Marlow Commuter Waterproof Backpack with Laptop Sleeve",
        119.0,
        options={"color": ("black", "sand")},
        attributes=("waterproof", "laptop sleeve"),
        rating="4.8",
    ),
    *(
        _product(50 + number, f"{maker} {litres} L Hiking Backpack", 30.0 + 7 * number)
        for number, (maker, litres) in enumerate(
            (
                ("Alder & Co", 20),
                ("Birkvale", 25),
                ("Cairn", 28),
                ("Dunmore", 30),
                ("Eskdale", 35),
                ("Fjordline", 45),
                ("Glenby", 50),
                ("Hartwood", 60),
                ("Ilmen", 65),
            )
        )
    ),
)
GOAL = Goal(
    asin="B000000041",
    instruction=WISH,
    attributes=("waterproof", "laptop sleeve"),
    options=("ocean blue", "40 l"),
    price_upper=90.0,
    name=PRODUCTS[0].title,
    query="hiking backpack",
    product_category=_PATH,
)
MOVES = (
    "search[hiking backpack]",
    "click[next >]",
    "click[< prev]",
    "click[b000000042]",
    "click[reviews]",
    "click[< prev]",
    "click[< prev]",
    "search[waterproof hiking backpack laptop sleeve]",
    "click[b000000041]",
    "click[description]",
    "click[< prev]",
    "click[features]",
    "click[< prev]",
    "click[ocean blue]",
    "click[add to cart]",
    "click[30 l]",
    "click[buy now]",
)
"""What a person would do: look around, read, choose, err, and buy in the wrong size."""


def shop_catalogue(products=PRODUCTS, goal=GOAL):
    """Return the catalogue with the goal in both splits."""
    return Catalogue.of(products, {"train": [goal], "test": [goal]})


def shop_trajectory(mode="text_rich", moves=MOVES, *, wrappers=(), catalogue=None, **options):
    """Play a visit with scripted moves."""
    said = [f"I go on with this.\n\\boxed{{{move}}}" for move in moves]
    shop = catalogue or shop_catalogue()
    rollout = collect(
        lambda: make(
            f"webshop:test-{mode}", data=shop, max_turns=30, wrappers=list(wrappers), **options
        ),
        lambda: ScriptedAgent(said),
        episodes=1,
        seed=0,
        agent_name="scripted",
    )
    (trajectory,) = rollout
    return trajectory
