"""Kinds of products for the home."""

from gem_web.sample import facets as f
from gem_web.sample.kinds import choice, facet, kind

__all__ = ["HOUSE"]

_BED_SIZE = choice("size", "in {} size | size {}", "twin | full | queen | king")

HOUSE = (
    kind(
        "sheet set | bed sheets | bedding set",
        path="Home > Bedroom > Bed Sheets",
        tags="Bedding Bundle | Mattress Ensemble | ",
        prices=(24, 95),
        facets=(f.FABRIC, f.CARE, f.FINISH, f.PATTERN),
        choices=(f.HOME_COLORS, _BED_SIZE),
        about=(
            "Bedding for all seasons",
            "The fitted sheet holds mattresses up to 14 inches deep",
            "It gets softer with time",
        ),
        extras=("Fitted and flat piece", "Elastic all around", "Envelope end on the cases"),
    ),
    kind(
        "curtains | drapes | window panels",
        one="a pair of",
        path="Home > Windows > Curtains",
        tags="Window Panels | Drapes | ",
        prices=(18, 85),
        facets=(
            f.FABRIC,
            f.CARE,
            facet(
                "that is {}",
                "blackout: Blackout | No light comes through, even at noon",
                "sheer: Sheer | Thin enough to let daylight in",
                "thermal: Thermal | A backing keeps heat in and cold out (thermal)",
            ),
            facet(
                "with a {}",
                "grommet top: Grommet top | Hangs from metal rings: grommet top",
                "rod pocket: Rod pocket | The rod slides through a sewn channel",
                "hidden tab: Hidden tab | Loops at the back hide the rod",
            ),
            f.PATTERN,
        ),
        choices=(
            f.HOME_COLORS,
            choice(
                "length", "with a length of {} | {} long", "63 in | 72 in | 84 in | 96 in | 108 in"
            ),
        ),
        about=(
            "Drapes for living rooms and bedrooms",
            "Two panels come in one bag",
            "The hem is weighted so that they hang straight",
        ),
        extras=("Two panels", "Weighted hem", "Wide enough for most frames"),
    ),
    kind(
        "area rug | rug | carpet",
        path="Home > Floors > Rugs",
        tags="Floor Carpet | Woven Runner | ",
        prices=(30, 180),
        facets=(
            facet(
                "made of {}",
                "jute: Made of jute | Material: jute",
                "new zealand wool: Made of New Zealand wool | Material: new zealand wool",
                "polypropylene: Made of polypropylene | Material: polypropylene",
                "cotton: Made of cotton | Material: cotton",
            ),
            facet(
                "with a {}",
                "low pile: Low pile | Flat enough for doors to pass: low pile",
                "shaggy pile: Shaggy pile | Long, thick tufts (shaggy pile)",
            ),
            facet(
                "that is {}",
                "non slip: Non slip | The back sticks to smooth floors",
                "stain resistant: Stain resistant | Red wine wipes off",
                "reversible: Reversible | Turn it over, both sides can be seen",
            ),
            f.PATTERN,
        ),
        choices=(
            f.HOME_COLORS,
            choice("size", "in the size {} | size {}", "2 x 3 | 4 x 6 | 5 x 8 | 8 x 10 | 9 x 12"),
        ),
        about=(
            "A carpet that warms up the room",
            "It lies flat from the first day",
            "Sizes are in feet",
        ),
        extras=("Lies flat", "Bound edges", "Safe on heated floors"),
    ),
    kind(
        "table lamp | desk lamp | bedside lamp",
        path="Home > Lighting > Table Lamps",
        tags="Bedside Luminaire | Nightstand Lantern | ",
        prices=(18, 95),
        facets=(
            f.POWER,
            f.LIGHT,
            facet(
                "with a {}",
                "fabric shade: Fabric shade | Shade: cloth over a wire frame (fabric shade)",
                "glass shade: Glass shade | Shade: mouth-blown glass (glass shade)",
                "rattan shade: Rattan shade | Shade: woven rattan (rattan shade)",
            ),
            facet(
                "made of {}",
                "marble: Made of marble | Foot: polished marble",
                "brass: Made of brass | Foot: brushed brass",
                "concrete: Made of concrete | Foot: cast concrete",
            ),
        ),
        choices=(
            f.HOME_COLORS,
            choice(
                "style",
                "in the style {} | in the {} style",
                "farmhouse | industrial | scandinavian | baroque",
            ),
        ),
        about=(
            "A lamp for reading and for long evenings",
            "The bulb is included and can be changed",
            "The foot is heavy, so it does not tip over",
        ),
        extras=("Bulb included", "Heavy foot", "Two year warranty"),
    ),
    kind(
        "wall clock | clock",
        path="Home > Walls > Clocks",
        tags="Timepiece for Kitchens | Round Dial | ",
        prices=(14, 70),
        facets=(
            facet(
                "that is {}",
                "silent: Silent | No ticking, the hand sweeps around",
                "radio controlled: Radio controlled | Sets itself by a radio signal",
                "pendulum driven: Pendulum driven | A pendulum swings below the face",
            ),
            facet(
                "with {}",
                "roman numerals: Roman numerals | Numbers run from I to XII",
                "arabic numerals: Arabic numerals | Numbers run from 1 to 12",
                "dot markers: Dot markers | Twelve dots in place of numbers (dot markers)",
            ),
            f.HARDWOOD,
            facet(
                "that is {}",
                "luminous: Luminous | Hands shine in the dark",
                "shatterproof: Shatterproof | The pane does not break if it falls",
            ),
        ),
        choices=(
            f.HOME_COLORS,
            choice("diameter", "with a diameter of {} | {} wide", "8 in | 10 in | 12 in | 16 in"),
        ),
        about=(
            "A clock that can be read from across the room",
            "It hangs on a single nail",
            "The movement is quartz unless said otherwise",
        ),
        extras=("Nail and plug included", "Easy to read", "Gift box"),
    ),
    kind(
        "pillow | bed pillow | head pillow",
        path="Home > Sleep > Pillows",
        tags="Headrest | Sleeping Cushion | ",
        prices=(15, 75),
        facets=(
            f.MEMORY,
            f.CARE,
            facet(
                "",
                "side sleeper: For the side sleeper | Fills the gap between ear and shoulder",
                "back sleeper: For the back sleeper | Flat, for people who lie face up",
                "stomach sleeper: For the stomach sleeper | Thin, for people who lie face down",
            ),
            facet(
                "that is {}",
                "hypoallergenic: Hypoallergenic | Kind to people with allergies",
                "cooling: Cooling | Takes heat away on warm nights",
            ),
        ),
        choices=(
            choice("size", "in {} size | size {}", "standard | queen | king | travel"),
            f.PACKS,
        ),
        about=(
            "Wake up without a stiff neck",
            "The cover has a zipper",
            "It comes rolled up and takes a day to rise",
        ),
        extras=("Cover with zipper", "Can be refilled", "Thirty nights to try"),
    ),
    kind(
        "candle | jar candle | scented candle",
        path="Home > Scents > Candles",
        tags="Slow Burning Wick | Glow Jar | ",
        prices=(9, 42),
        facets=(
            facet(
                "made of {}",
                "soy wax: Made of soy wax | Wax: pressed from soy (soy wax)",
                "beeswax: Made of beeswax | Wax: beeswax from one valley",
                "coconut wax: Made of coconut wax | Wax: pressed from coconut (coconut wax)",
            ),
            facet(
                "with a {}",
                "wooden wick: Wooden wick | A strip of cherry that crackles (wooden wick)",
                "cotton wick: Cotton wick | Wick: braided cotton (cotton wick)",
            ),
            facet(
                "that is {}",
                "hand poured: Hand poured | Filled by hand in small lots",
                "smokeless: Smokeless | Burns without soot",
            ),
            facet(
                "that is {}",
                "refillable: Refillable | Send the jar back and get it filled again",
                "lead free: Lead free | Tested and found lead free",
            ),
        ),
        choices=(
            f.SCENTS,
            choice("weight", "weighing {} | of {}", "4 oz | 8 oz | 12 oz | 20 oz"),
        ),
        about=(
            "Light it for an hour and the whole room changes",
            "The lid keeps dust out",
            "Trim the wick before each use",
        ),
        extras=("Lid included", "Burns evenly", "Comes in a gift carton"),
    ),
)
