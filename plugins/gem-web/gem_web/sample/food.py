"""Kinds of food."""

from gem_web.sample import facets as f
from gem_web.sample.kinds import choice, facet, kind

__all__ = ["FOOD"]

_WEIGHT = choice("weight", "weighing {} | in a bag of {}", "8 oz | 12 oz | 2 lb | 5 lb")

FOOD = (
    kind(
        "green tea | tea leaves | loose tea",
        one="some",
        path="Food > Drinks > Tea",
        tags="Loose Leaves | Infusion Tin | ",
        prices=(7, 34),
        facets=(
            f.FARMING,
            facet(
                "that is {}",
                "decaffeinated: Decaffeinated | Nothing in it that keeps you awake",
                "hand picked: Hand picked | Only the two youngest leaves, plucked by hand",
                "stone ground: Stone ground | Milled slowly between stones",
            ),
            facet(
                "",
                "first flush: First flush | From the first harvest in spring",
                "shade grown: Shade grown | Bushes stand under nets for three weeks",
            ),
            f.DIET,
        ),
        choices=(
            choice(
                "flavor",
                "with {} flavor | flavor {}",
                "jasmine | ginger | lemon | mint | peach | classic",
            ),
            f.PACKS,
        ),
        about=(
            "Brew it at 80 degrees for two minutes",
            "A tin keeps it fresh",
            "The second cup tastes even better",
        ),
        extras=("Packed in the country of origin", "Tin with a tight lid", "Good for two brews"),
    ),
    kind(
        "coffee beans | coffee | whole bean coffee",
        one="some",
        path="Food > Hot Drinks > Coffee",
        tags="Barista Blend | Morning Brew | ",
        prices=(9, 45),
        facets=(
            f.FARMING,
            facet(
                "",
                "dark roast: Dark roast | Roasted long, tastes of cocoa (dark roast)",
                "medium roast: Medium roast | Roasted until even and round (medium roast)",
                "light roast: Light roast | Roasted briefly, tastes of fruit (light roast)",
            ),
            facet(
                "",
                "single origin: Single origin | All from one farm",
                "arabica: Arabica | Species: arabica",
                "robusta: Robusta | Species: robusta",
            ),
            facet(
                "that is {}",
                "decaffeinated: Decaffeinated | For the evening, it lets you sleep",
                "low acid: Low acid | Gentle to the stomach",
            ),
        ),
        choices=(
            _WEIGHT,
            choice(
                "grind", "with {} grind | grind {}", "whole bean | espresso | french press | filter"
            ),
        ),
        about=(
            "Roasted in a drum from 1950",
            "The date of the roast is on the bag",
            "A valve lets air out and none in",
        ),
        extras=("Date on the bag", "Valve", "Roasted twice a week"),
    ),
    kind(
        "granola bars | snack bars | cereal bars",
        one="some",
        path="Food > Snacks > Granola Bars",
        tags="Crunchy Snack | Oat Bites | ",
        prices=(6, 30),
        facets=(
            f.DIET,
            f.FARMING,
            facet(
                "that is {}",
                "high protein: High protein | Twelve grams of protein in each (high protein)",
                "low sodium: Low sodium | Hardly any salt",
                "high fiber: High fiber | Eight grams of fiber in each (high fiber)",
            ),
            facet(
                "that is {}",
                "plant based: Plant based | Nothing from animals",
                "individually wrapped: Individually wrapped | Each one in its own paper",
            ),
        ),
        choices=(
            choice(
                "flavor",
                "with {} flavor | flavor {}",
                "strawberry | dark chocolate/chocolate | peanut butter | apple cinnamon | coconut"
                " | maple | lemon",
            ),
            f.PACKS,
        ),
        about=(
            "For the hour before lunch",
            "They do not crumble",
            "Five things inside, no more",
        ),
        extras=("Do not crumble", "Five ingredients", "Fit into every bag"),
    ),
    kind(
        "trail mix | fruit mix | snack mix",
        one="some",
        path="Food > Dried > Trail Mix",
        tags="Dried Berries | Hikers Fuel | ",
        prices=(7, 36),
        facets=(
            f.DIET,
            f.FARMING,
            facet(
                "that is {}",
                "unsalted: Unsalted | No salt added",
                "honey roasted: Honey roasted | Glazed with honey in the oven",
                "smoked: Smoked | Over beech chips for a night",
            ),
            facet(
                "that is {}",
                "unheated: Unheated | Never heated above 40 degrees",
                "freeze dried: Freeze dried | Water is drawn out in the cold",
                "resealable: Resealable | The bag closes again",
            ),
        ),
        choices=(
            _WEIGHT,
            choice(
                "style",
                "in the {} style | in the style {}",
                "tropical | mountain | cranberry | asian | dessert",
            ),
        ),
        about=(
            "A handful keeps you going",
            "Mixed on the day it is sent",
            "No dust at the bottom",
        ),
        extras=("Mixed fresh", "No dust", "Good on yogurt"),
    ),
    kind(
        "hot sauce | chili sauce | pepper sauce",
        path="Food > Pantry > Hot Sauces",
        tags="Chili Condiment | Spicy Dip | ",
        prices=(5, 24),
        facets=(
            f.DIET,
            f.FARMING,
            facet(
                "that is {}",
                "barrel aged: Barrel aged | Rests in oak for a year",
                "fermented: Fermented | Salt and time make it sour",
                "fire roasted: Fire roasted | Peppers are charred over flames",
            ),
            facet(
                "that is {}",
                "preservative free: Preservative free | Keeps without additives",
                "vinegar free: Vinegar free | Sour from limes alone",
            ),
        ),
        choices=(
            choice("heat", "with {} heat | {} heat", "mild | medium | hot | insane"),
            choice(
                "flavor",
                "with {} flavor | flavor {}",
                "garlic | mango | pineapple | smoky | chipotle | peach",
            ),
        ),
        about=(
            "For eggs, tacos and soup",
            "A few drops will do",
            "The bottle is glass",
        ),
        extras=("Drops easily", "Glass bottle", "Keeps for a year"),
    ),
)
