"""Kinds of products for the workshop and the garden."""

from gem_web.sample import facets as f
from gem_web.sample.kinds import choice, facet, kind

__all__ = ["OUTDOORS"]

OUTDOORS = (
    kind(
        "drill | power drill | drill driver",
        path="Tools > Powered > Drills",
        tags="Driver with Chuck | Workshop Machine | ",
        prices=(38, 180),
        facets=(
            facet(
                "that is {}",
                "cordless: Cordless | Runs on a battery that snaps into the grip",
                "corded: Corded | A cable of four meters, power never fades (corded)",
            ),
            facet(
                "with a {}",
                "brushless motor: Brushless motor | No carbon that wears down: brushless motor",
                "hammer function: Hammer function | Knocks its way into brick",
            ),
            facet(
                "with a {}",
                "keyless chuck: Keyless chuck | Bits are changed by hand, without a tool",
                "magnetic chuck: Magnetic chuck | A magnet holds the bit (magnetic chuck)",
            ),
            facet(
                "with a {}",
                "work light: Work light | A lamp under the chuck shines on the hole",
                "belt clip: Belt clip | Hangs from your trousers (belt clip)",
            ),
        ),
        choices=(
            choice("voltage", "with {} | of {}", "12v | 18v | 24v"),
            choice(
                "bundle",
                "as the {} | sold as the {}",
                "bare tool | starter kit | charger combo | contractor case",
            ),
        ),
        about=(
            "A machine for shelves, decks and repairs",
            "The switch sets the speed from slow to fast",
            "Works left and right",
        ),
        extras=("Left and right rotation", "Soft switch", "Three year warranty"),
    ),
    kind(
        "flashlight | torch | hand torch",
        path="Tools > Lamps > Flashlights",
        tags="Night Torch | Beam Projector | ",
        prices=(9, 55),
        facets=(
            f.POWER,
            f.WATER,
            facet(
                "with a {}",
                "zoom lens: Zoom lens | Turn the head to widen the beam (zoom lens)",
                "red mode: Red mode | A second, red beam spares your night eyes: red mode",
                "strobe mode: Strobe mode | Flashes to be seen from afar: strobe mode",
            ),
            facet(
                "with a {}",
                "magnetic base: Magnetic base | Sticks to steel, so both hands are free",
                "wrist strap: Wrist strap | A loop keeps it on your arm (wrist strap)",
            ),
        ),
        choices=(
            choice(
                "brightness",
                "with {} | with a brightness of {}",
                "250 lm | 800 lm | 1500 lm | 4200 lm",
            ),
            f.PACKS,
        ),
        about=(
            "A torch for the car, the tent and power cuts",
            "It lights up a tree at the end of the garden",
            "The button can be found in the dark",
        ),
        extras=("Ribbed body", "Easy button", "Remembers the last mode"),
    ),
    kind(
        "work gloves | gardening gloves | safety gloves",
        one="a pair of",
        path="Tools > Protection > Work Gloves",
        tags="Palm Protection | Grippy Mitts | ",
        prices=(6, 32),
        facets=(
            facet(
                "made of {}",
                "goatskin: Made of goatskin | Palm: goatskin",
                "nitrile: Made of nitrile | Palm: dipped in nitrile",
                "synthetic leather: Made of synthetic leather | Palm: synthetic leather",
            ),
            facet(
                "that is {}",
                "cut resistant: Cut resistant | Bear the slip of a blade",
                "thorn proof: Thorn proof | Roses do not get through",
                "heat resistant: Heat resistant | Hold a hot pan for ten seconds",
            ),
            f.CARE,
            facet(
                "that is {}",
                "touchscreen friendly: Touchscreen friendly | Phones react to thumb and finger",
                "fleece lined: Fleece lined | Inside: a layer of brushed fleece",
            ),
        ),
        choices=(
            choice("size", "in size {} | size {}", "small | medium | large"),
            choice(
                "color",
                "in {} | in the color {}",
                "black | tan | safety orange/orange | navy | lime",
            ),
        ),
        about=(
            "For wood, stone and soil",
            "The cuff closes tightly so that no dirt gets in",
            "Fingers are cut to bend",
        ),
        extras=("Tight cuff", "Bent fingers", "Padded knuckles"),
    ),
    kind(
        "tape measure | measuring tape",
        path="Tools > Measuring > Tape Measures",
        tags="Measuring Ruler | Steel Reel | ",
        prices=(6, 28),
        facets=(
            facet(
                "with a {}",
                "auto lock: Auto lock | Stays where you pull it",
                "magnetic hook: Magnetic hook | The end sticks to pipes and beams (magnetic hook)",
            ),
            facet(
                "that is {}",
                "double sided: Double sided | Numbers on both faces",
                "nylon coated: Nylon coated | Nylon keeps numbers readable (nylon coated)",
                "rust proof: Rust proof | Does not rust, even on wet sites",
            ),
            facet(
                "that is {}",
                "shockproof: Shockproof | Survives a fall from a ladder",
                "pocket sized: Pocket sized | Small enough for a trouser pocket",
            ),
            facet(
                "with {}",
                "fractional markings: Fractional markings | Each line has its fraction printed",
                "metric markings: Metric markings | Numbers are centimeters (metric markings)",
            ),
        ),
        choices=(
            choice("length", "with a length of {} | {} long", "12 ft | 25 ft | 33 ft"),
            f.PACKS,
        ),
        about=(
            "It stands out ten feet without bending",
            "The case is rubber where you hold it",
            "Readable without glasses",
        ),
        extras=("Stands out far", "Belt hook", "Large numbers"),
    ),
    kind(
        "garden hose | water hose",
        path="Garden > Watering > Garden Hoses",
        tags="Lawn Watering Pipe | Yard Sprayer Line | ",
        prices=(20, 80),
        facets=(
            f.ROUGH,
            facet(
                "that is {}",
                "expandable: Expandable | Grows to three times its length under pressure",
                "kink free: Kink free | Does not buckle around corners",
                "lead free: Lead free | Fit for drinking, tested and lead free",
            ),
            facet(
                "with {}",
                "brass fittings: Brass fittings | Ends: solid brass fittings",
                "quick connectors: Quick connectors | Ends click on to any tap (quick connectors)",
            ),
            facet(
                "with a {}",
                "spray nozzle: Spray nozzle | A nozzle with seven patterns is in the box",
                "wall reel: Wall reel | A drum to roll it up is in the box: wall reel",
            ),
        ),
        choices=(
            choice("length", "with a length of {} | {} long", "25 ft | 50 ft | 75 ft | 100 ft"),
            choice(
                "color",
                "in {} | in the color {}",
                "green | black | sky blue/blue | safety orange/orange | gray",
            ),
        ),
        about=(
            "Water the far end of the yard",
            "It rolls up without a fight",
            "Empties itself after use",
        ),
        extras=("Easy to roll up", "Washers included", "Holds house pressure"),
    ),
    kind(
        "planter | flower pot | plant pot",
        path="Garden > Growing > Planters",
        tags="Flower Pot | Balcony Vessel | ",
        prices=(10, 60),
        facets=(
            f.PLANT_POT,
            f.ROUGH,
            facet(
                "with {}",
                "drainage holes: Drainage holes | Extra water runs out at the bottom",
                "wheels: With wheels | Rolls on four small wheels",
            ),
            facet(
                "that is {}",
                "hanging: Hanging | Comes with a chain and a ceiling hook",
                "stackable: Stackable | Several of them stand on top of each other",
                "hand painted: Hand painted | Each one is painted by hand",
            ),
        ),
        choices=(
            choice("diameter", "with a diameter of {} | {} wide", "6 in | 8 in | 10 in | 14 in"),
            f.HOME_COLORS,
        ),
        about=(
            "For herbs on the sill and palms on the terrace",
            "A saucer is included",
            "The wall is thick so that roots stay cool",
        ),
        extras=("Saucer included", "Thick wall", "Felt pads for the floor"),
    ),
    kind(
        "bird feeder | feeding station for birds",
        path="Garden > Wildlife > Bird Feeders",
        tags="Wild Finch Station | Seed Dispenser | ",
        prices=(12, 55),
        facets=(
            f.HARDWOOD,
            facet(
                "that is {}",
                "squirrel proof: Squirrel proof | The hatch closes under the weight of a squirrel",
                "window mounted: Window mounted | Suction cups hold it on the pane",
            ),
            f.ROUGH,
            facet(
                "with a {}",
                "removable tray: Removable tray | The floor pulls out: removable tray",
                "wide roof: Wide roof | A roof that keeps seeds dry (wide roof)",
            ),
        ),
        choices=(
            choice("capacity", "with a capacity of {} | that holds {}", "1 lb | 2 lb | 5 lb"),
            choice(
                "color", "in {} | in the color {}", "green | brick red/red | slate | ivory | copper"
            ),
        ),
        about=(
            "Brings finches and tits to your window",
            "It is filled from above",
            "Perches on four sides",
        ),
        extras=("Filled from above", "Four perches", "Easy to hang up"),
    ),
)
