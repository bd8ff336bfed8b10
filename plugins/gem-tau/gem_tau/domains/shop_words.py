"""The words of generated shops, all invented: names, places, and products with their options."""

__all__ = ["BRANDS", "CITIES", "FIRST_NAMES", "LAST_NAMES", "PRODUCTS", "STREETS"]

FIRST_NAMES = tuple(
    "Abel Adina Alma Anselm Arlo Astrid Balder Bea Benno Bria Caspian Celeste Corin Dalia Dario "
    "Delphine Edda Elio Enid Esben Fabia Falk Fenna Flora Gideon Greta Hanno Idris Ilse Ines "
    "Ivo Jarek Jorun Kaia Kester Lale Leif Linus Lorna Maarten Mirela Nadir Nessa Odile Petra "
    "Quill Rafe Romy Rune Sanna Selim Tamsin Thora Tycho Ulla Viggo Willa Xenia Yara Zeno".split()
)
LAST_NAMES = tuple(
    "Abernethy Almqvist Ardent Bakersfield Barrowby Bellweather Birkland Brandvold Castellane "
    "Cawthorne Corvane Dahlgaard Darrowby Delacourt Dunmore Eastlake Ebbesen Elderkin Fairholm "
    "Farnaby Fenwright Galbreath Garrick Glenmoor Halvard Harrowgate Hollenbeck Ingleby Iverness "
    "Jessamy Kallstrom Kerridge Kilbourne Langstaff Larkspur Lindahl Marchbank Merrow Mossgrove "
    "Nightwood Norrby Oakhurst Ormsby Pemberly Penhallow Quennell Ravensby Redfern Rosvold "
    "Sallow Silverlake Stanhope Strand Tarrant Thistlewood Underhay Valcourt Vestergaard Wainscott "
    "Westerby Wolfendale Yarrow Zellweg".split()
)
STREETS = tuple(
    "Heron Bramble Quarry Foxglove Lantern Mill Harbor Juniper Kestrel Orchard Poplar Thimble "
    "Wicker Copper Meadow Sorrel Tannery Beacon Ferry Gable".split()
)
CITIES = (
    ("Alder Falls", "OR", "970"),
    ("Brightwater", "WA", "983"),
    ("Cinder Creek", "NV", "894"),
    ("Dunes Bay", "MI", "490"),
    ("Eastmere", "MA", "012"),
    ("Fallow Ridge", "KS", "671"),
    ("Granite Hollow", "NH", "032"),
    ("Hazelton Park", "OH", "448"),
    ("Irongate", "PA", "168"),
    ("Juniper Flats", "NM", "875"),
    ("Kingsmoor", "TN", "377"),
    ("Lakemont", "WI", "541"),
    ("Maple Crossing", "VT", "056"),
    ("North Arbor", "MN", "562"),
    ("Otter Point", "ME", "046"),
    ("Pinebrook", "NC", "287"),
)
"""City, state, and the first three digits of its zip codes."""
BRANDS = ("Visa", "Mastercard", "Discover")

_COLORS = ("red", "blue", "green", "black", "white")
_SOFT = ("gray", "navy", "olive", "cream", "rust")
_SIZES = ("small", "medium", "large")
_WOODS = ("oak", "beech", "walnut", "bamboo")
_METALS = ("steel", "brass", "aluminum")

PRODUCTS: tuple[tuple[str, int, dict[str, tuple[str, ...]]], ...] = (
    ("Picnic Blanket", 35, {"color": _COLORS, "size": _SIZES, "lining": ("waterproof", "plain")}),
    ("Rain Poncho", 28, {"color": _COLORS, "size": _SIZES, "hood": ("fixed", "removable")}),
    ("Frying Pan", 48, {"diameter": ("20 cm", "24 cm", "28 cm"), "handle": _WOODS}),
    ("Salad Bowl", 31, {"material": _WOODS, "size": _SIZES}),
    ("Bread Bin", 44, {"material": _WOODS, "color": _SOFT}),
    ("Chef Apron", 26, {"color": _SOFT, "fabric": ("linen", "cotton", "denim")}),
    ("Fountain Pen", 62, {"nib": ("fine", "medium", "broad"), "color": _COLORS}),
    (
        "Sketch Pad",
        17,
        {"size": _SIZES, "paper": ("smooth", "rough"), "binding": ("glued", "ring")},
    ),
    ("Watercolor Box", 39, {"shades": ("12", "24", "36"), "case": ("tin", "wood", "plastic")}),
    ("Sleeping Bag", 118, {"color": _SOFT, "season": ("summer", "winter"), "size": _SIZES}),
    ("Camping Stove", 74, {"fuel": ("gas", "alcohol", "wood"), "burners": ("one", "two")}),
    ("Headlamp", 42, {"brightness": ("200 lumens", "400 lumens", "600 lumens"), "color": _COLORS}),
    (
        "Trekking Poles",
        83,
        {"material": ("carbon", "aluminum"), "grip": ("cork", "foam", "rubber")},
    ),
    (
        "Hammock",
        67,
        {"color": _COLORS, "size": ("single", "double"), "stand": ("included", "not included")},
    ),
    ("Beach Towel", 24, {"color": _COLORS, "pattern": ("plain", "striped", "checked")}),
    ("Bath Robe", 56, {"color": _SOFT, "size": _SIZES, "fabric": ("terry", "waffle")}),
    (
        "Shower Curtain",
        29,
        {"color": _SOFT, "length": ("180 cm", "200 cm"), "liner": ("included", "not included")},
    ),
    ("Laundry Basket", 33, {"material": ("wicker", "cotton", "plastic"), "size": _SIZES}),
    ("Floor Rug", 146, {"color": _SOFT, "shape": ("round", "oval", "rectangular")}),
    ("Cushion Cover", 18, {"color": _COLORS, "fabric": ("linen", "velvet", "cotton")}),
    ("Duvet Set", 97, {"color": _SOFT, "size": ("single", "double", "king")}),
    ("Table Runner", 22, {"color": _COLORS, "fabric": ("linen", "cotton", "jute")}),
    ("Candle Holder", 27, {"material": _METALS, "arms": ("one", "three", "five")}),
    ("Picture Frame", 23, {"material": _WOODS, "format": ("square", "portrait", "panorama")}),
    ("Plant Pot", 21, {"color": _COLORS, "size": _SIZES, "saucer": ("included", "not included")}),
    ("Watering Can", 32, {"material": _METALS, "capacity": ("2 liters", "5 liters", "9 liters")}),
    (
        "Pruning Shears",
        38,
        {
            "blade": ("bypass", "anvil"),
            "grip": ("left-handed", "right-handed"),
            "length": ("18 cm", "21 cm"),
        },
    ),
    ("Bird Feeder", 34, {"material": _WOODS, "mount": ("hanging", "pole", "window")}),
    ("Garden Bench", 218, {"material": _WOODS, "seats": ("two", "three", "four")}),
    ("Tool Box", 58, {"color": _COLORS, "drawers": ("two", "four", "six")}),
    (
        "Cordless Drill",
        129,
        {"voltage": ("12 volts", "18 volts"), "chuck": ("keyed", "keyless"), "color": _COLORS},
    ),
    ("Step Ladder", 88, {"steps": ("three", "four", "five"), "material": _METALS}),
    ("Extension Cord", 19, {"length": ("2 meters", "5 meters", "10 meters"), "color": _COLORS}),
    ("Board Game", 41, {"theme": ("harbor", "castle", "forest"), "edition": ("classic", "deluxe")}),
    ("Chess Set", 79, {"material": _WOODS, "size": _SIZES}),
    ("Stunt Kite", 36, {"color": _COLORS, "lines": ("two", "four")}),
    (
        "Ukulele",
        113,
        {
            "wood": ("mahogany", "koa", "spruce"),
            "size": ("soprano", "tenor"),
            "strings": ("nylon", "fluorocarbon"),
        },
    ),
    ("Music Stand", 47, {"material": _METALS, "height": ("120 cm", "150 cm", "180 cm")}),
    ("Metronome", 52, {"drive": ("wind-up", "digital"), "case": _WOODS}),
    ("Knit Scarf", 43, {"color": _SOFT, "yarn": ("merino", "alpaca", "cotton")}),
    ("Felt Hat", 64, {"color": _SOFT, "size": _SIZES}),
    ("Leather Belt", 49, {"color": ("black", "brown", "tan"), "buckle": _METALS, "size": _SIZES}),
    ("Rain Boots", 59, {"color": _COLORS, "size": ("38", "40", "42", "44")}),
    ("Messenger Bag", 92, {"color": _SOFT, "fabric": ("canvas", "leather", "nylon")}),
    ("Card Wallet", 37, {"color": _COLORS, "slots": ("four", "six", "eight")}),
    (
        "Fish Tank",
        154,
        {"capacity": ("30 liters", "60 liters", "90 liters"), "lid": ("open", "glass")},
    ),
    ("Dog Leash", 25, {"color": _COLORS, "length": ("1 meter", "2 meters", "3 meters")}),
    ("Monitor Arm", 101, {"color": ("black", "white", "silver"), "mount": ("clamp", "grommet")}),
    ("Ironing Board", 72, {"width": ("30 cm", "38 cm", "45 cm"), "cover": _SOFT}),
    ("Spice Rack", 46, {"material": _WOODS, "jars": ("six", "nine", "ten")}),
)
"""The name, a usual price in dollars, and the values of each option."""
