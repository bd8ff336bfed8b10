"""Kinds of products for children, sport, pets and the office."""

from gem_web.sample import facets as f
from gem_web.sample.kinds import choice, facet, kind

__all__ = ["LEISURE"]

LEISURE = (
    kind(
        "building blocks | construction bricks | toy blocks",
        one="some",
        path="Toys > Construction > Building Blocks",
        tags="Construction Bricks | Stacking Cubes | ",
        prices=(15, 70),
        facets=(
            facet(
                "made of {}",
                "beech wood: Made of beech wood | Material: beech wood",
                "soft foam: Made of soft foam | Material: soft foam",
                "recycled plastic: Made of recycled plastic | Material: recycled plastic",
            ),
            facet(
                "that is {}",
                "magnetic: Magnetic | Magnets inside hold them together",
                "glow in the dark: Glow in the dark | They shine when the lamp is off",
                "hand painted: Hand painted | Each one is painted by hand",
            ),
            facet(
                "with a {}",
                "storage bag: Storage bag | A bag with a cord is in the box: storage bag",
                "lidded tub: Lidded tub | A tub with a lid is in the box: lidded tub",
            ),
            facet(
                "that is {}",
                "bpa free: BPA free | Free of bisphenol A (bpa free)",
                "dishwasher safe: Dishwasher safe | Clean them in the dishwasher",
            ),
        ),
        choices=(
            choice("pieces", "with {} pieces | of {} pieces", "40 | 75 | 150 | 320"),
            choice(
                "theme",
                "with the theme {} | with the {} theme",
                "castle | harbor | jungle | spaceship | farm",
            ),
        ),
        about=(
            "For towers that reach the ceiling",
            "They fit those of other makers",
            "A quiet afternoon is in every box",
        ),
        extras=("From three years", "Rounded corners", "Booklet with ideas"),
    ),
    kind(
        "jigsaw puzzle | puzzle | jigsaw",
        path="Toys > Puzzles > Jigsaw Puzzles",
        tags="Brain Teaser | Picture Mosaic | ",
        prices=(9, 40),
        facets=(
            facet(
                "made of {}",
                "thick cardboard: Made of thick cardboard | Material: thick cardboard",
                "birch plywood: Made of birch plywood | Material: birch plywood",
            ),
            facet(
                "with a {}",
                "matte finish: Matte finish | No glare under the lamp",
                "glitter finish: Glitter finish | Sparkles like snow (glitter finish)",
            ),
            facet(
                "with a {}",
                "fold out poster: Fold out poster | The whole picture on a sheet (fold out poster)",
                "sorting tray: Sorting tray | A tray for the edges is in the box: sorting tray",
            ),
            facet(
                "that is {}",
                "glow in the dark: Glow in the dark | Stars shine when the lamp is off",
                "double sided: Double sided | A second picture on the back",
            ),
        ),
        choices=(
            choice("pieces", "with {} pieces | of {} pieces", "99 | 250 | 500 | 1000"),
            choice(
                "picture",
                "with a picture of a {} | showing a {}",
                "lighthouse | mountain lake | owl | bakery | hot air balloon | tram",
            ),
        ),
        about=(
            "An evening without a screen",
            "No two parts have the same shape",
            "Lost parts are sent again for free",
        ),
        extras=("Lost parts replaced", "No dust in the box", "Parts fit tightly"),
    ),
    kind(
        "stuffed animal | plush toy | soft toy",
        path="Toys > Plush > Stuffed Animals",
        tags="Plush Toy | Cuddly Friend | ",
        prices=(10, 45),
        facets=(
            f.CARE,
            facet(
                "filled with {}",
                "recycled fiber: Filled with recycled fiber | Filling: recycled fiber",
                "cherry pits: Filled with cherry pits | Filling: cherry pits",
                "lavender buds: Filled with lavender buds | Filling: lavender buds",
            ),
            facet(
                "with {}",
                "embroidered eyes: Embroidered eyes | Eyes are sewn with thread: embroidered eyes",
                "glass eyes: Glass eyes | Eyes are beads of glass (glass eyes)",
            ),
            facet(
                "that is {}",
                "weighted: Weighted | Heavy, for a calm lap",
                "hypoallergenic: Hypoallergenic | Kind to children with allergies",
            ),
        ),
        choices=(
            choice(
                "animal",
                "as a {} | in the shape of a {}",
                "fox | penguin | hedgehog | sloth | octopus | badger",
            ),
            choice("height", "with a height of {} | {} tall", "8 in | 12 in | 20 in | 36 in"),
        ),
        about=(
            "A friend for the night and for the road",
            "Seams are sewn three times",
            "It has a tag for a name",
        ),
        extras=("Safe from birth", "Comes with a name tag", "Triple seams"),
    ),
    kind(
        "yoga mat | exercise mat | gym mat",
        path="Sports > Fitness > Yoga Mats",
        tags="Exercise Pad | Stretching Surface | ",
        prices=(16, 85),
        facets=(
            facet(
                "made of {}",
                "natural cork: Made of natural cork | Material: natural cork",
                "tree rubber: Made of tree rubber | Material: tree rubber",
                "closed cell foam: Made of closed cell foam | Material: closed cell foam",
            ),
            facet(
                "that is {}",
                "non slip: Non slip | Hands and feet stay in place",
                "reversible: Reversible | Rough on one side, smooth on the other",
            ),
            facet(
                "with a {}",
                "carrying strap: Carrying strap | A strap is in the box: carrying strap",
                "alignment print: Alignment print | Lines show where the feet go: alignment print",
            ),
            facet(
                "that is {}",
                "machine washable: Machine washable at 30 degrees | Goes into the washing machine",
                "latex free: Latex free | Fit for people with an allergy to rubber (latex free)",
            ),
        ),
        choices=(
            f.HOME_COLORS,
            choice("thickness", "with a thickness of {} | {} thick", "3 mm | 5 mm | 8 mm | 12 mm"),
        ),
        about=(
            "Kind to knees and wrists",
            "It lies flat after you roll it out",
            "It smells of nothing after a day",
        ),
        extras=("Lies flat", "Long enough for tall people", "Wipes clean"),
    ),
    kind(
        "tent | camping tent",
        path="Sports > Camping > Tents",
        tags="Campsite Shelter | Dome Canopy | ",
        prices=(55, 240),
        facets=(
            f.WATER,
            facet(
                "that is {}",
                "pop up: Pop up | Throw it and it stands",
                "freestanding: Freestanding | Stands without pegs",
            ),
            facet(
                "with {}",
                "fiberglass poles: Fiberglass poles | Poles: fiberglass (fiberglass poles)",
                "aluminum poles: Aluminum poles | Poles: light aluminum poles",
                "inflatable beams: Inflatable beams | Beams are pumped up in two minutes",
            ),
            facet(
                "with a {}",
                "mosquito net: Mosquito net | Mesh at every opening keeps insects out",
                "stove jack: Stove jack | A sleeve for a stove pipe: stove jack",
                "porch: With a porch | A roof in front for boots and bags: porch",
            ),
        ),
        choices=(
            choice("sleeps", "for {} | that sleeps {}", "two people | four adults | six campers"),
            choice(
                "color",
                "in {} | in the color {}",
                "forest green/green | sand | safety orange/orange | slate | navy",
            ),
        ),
        about=(
            "Stay dry on your first night out",
            "Poles are marked by color",
            "A bag with a handle is included",
        ),
        extras=("Pegs and lines included", "Vents in the roof", "Bag with a handle"),
    ),
    kind(
        "dog leash | dog lead",
        path="Pets > Dogs > Leashes",
        tags="Puppy Lead | Walking Tether | ",
        prices=(9, 42),
        facets=(
            facet(
                "made of {}",
                "climbing rope: Made of climbing rope | Material: climbing rope",
                "nylon webbing: Made of nylon webbing | Material: nylon webbing",
                "oiled leather: Made of oiled leather | Material: oiled leather",
            ),
            facet(
                "that is {}",
                "retractable: Retractable | Rolls up by itself",
                "reflective: Reflective | Threads shine in headlights",
                "hands free: Hands free | Worn around the waist",
            ),
            facet(
                "with a {}",
                "padded handle: Padded handle | The loop is soft on your palm (padded handle)",
                "traffic handle: Traffic handle | A second loop near the collar (traffic handle)",
            ),
            facet(
                "that is {}",
                "chew proof: Chew proof | Teeth do not get through",
                "waterproof: Waterproof | Does not soak up water",
            ),
        ),
        choices=(
            f.CLOTH_COLORS,
            choice("length", "with a length of {} | {} long", "4 ft | 6 ft | 10 ft | 30 ft"),
        ),
        about=(
            "For small and for strong dogs",
            "The hook turns so that nothing twists",
            "Sewn with the thread of parachutes",
        ),
        extras=("Turning hook", "Strong thread", "Ring for a bag"),
    ),
    kind(
        "cat bed | bed for cats | cat basket",
        path="Pets > Cats > Cat Beds",
        tags="Kitten Basket | Feline Nest | ",
        prices=(16, 70),
        facets=(
            f.CARE,
            facet(
                "made of {}",
                "felt: Made of felt | Outside: felt",
                "wicker: Made of wicker | Outside: wicker",
                "faux fur: Made of faux fur | Outside: faux fur",
            ),
            facet(
                "that is {}",
                "self warming: Self warming | A foil inside reflects the heat of the body",
                "elevated: Elevated | Stands on legs, away from cold tiles",
                "covered: Covered | A roof makes it a cave",
            ),
            facet(
                "with a {}",
                "removable cushion: Removable cushion | The cushion can be taken out",
                "non slip base: Non slip base | Stays in place on smooth floors",
            ),
        ),
        choices=(
            f.HOME_COLORS,
            choice("size", "in the size {} | size {}", "small | medium | large"),
        ),
        about=(
            "A place to sleep for twenty hours a day",
            "The rim is low so that old animals get in",
            "Hair comes off with a damp hand",
        ),
        extras=("Low rim", "Hair comes off easily", "Comes with a toy mouse"),
    ),
    kind(
        "notebook | journal | writing pad",
        path="Office > Paper > Notebooks",
        tags="Writing Journal | Diary | ",
        prices=(6, 32),
        facets=(
            facet(
                "with {}",
                "dotted pages: Dotted pages | Pages: a grid of fine dots (dotted pages)",
                "ruled pages: Ruled pages | Pages: lines 7 mm apart (ruled pages)",
                "blank pages: Blank pages | Pages: nothing printed on them (blank pages)",
            ),
            facet(
                "with a {}",
                "hard cover: Hard cover | Boards keep corners straight (hard cover)",
                "leather cover: Leather cover | Bound in cowhide (leather cover)",
                "cork cover: Cork cover | Cover: thin cork (cork cover)",
            ),
            facet(
                "that is {}",
                "spiral bound: Spiral bound | A wire holds the sheets, it opens all the way around",
                "thread bound: Thread bound | Sewn in sections, lies open flat",
            ),
            facet(
                "with {}",
                "acid free paper: Acid free paper | Does not turn yellow (acid free paper)",
                "stone paper: Stone paper | Made without trees, from stone (stone paper)",
            ),
        ),
        choices=(
            f.CLOTH_COLORS,
            choice("format", "in the format {} | format {}", "a4 | b5 | a6 | us letter"),
        ),
        about=(
            "For plans, sketches and lists",
            "Ink does not show on the other side",
            "A ribbon marks your place",
        ),
        extras=("Ribbon", "Pocket at the back", "Ink does not show through"),
    ),
    kind(
        "desk organizer | desk tidy | pen holder",
        path="Office > Order > Desk Organizers",
        tags="Pen Holder | Stationery Tidy | ",
        prices=(12, 55),
        facets=(
            f.HARDWOOD,
            f.FOLDING,
            facet(
                "with {}",
                "two drawers: Two drawers | Below are two drawers",
                "phone stand: A phone stand | A slot holds your mobile upright (phone stand)",
                "cable clips: Cable clips | Cords are held at the back (cable clips)",
            ),
            facet(
                "that is {}",
                "hand polished: Hand polished | Sanded and waxed by hand",
                "rotating: Rotating | Turns all the way around",
            ),
        ),
        choices=(
            f.HOME_COLORS,
            choice(
                "compartments", "with {} | that has {}", "three slots | five trays | nine boxes"
            ),
        ),
        about=(
            "An end to the search for a pencil",
            "It stands on felt",
            "Comes in one piece, nothing to build",
        ),
        extras=("Stands on felt", "Nothing to build", "Fits a shelf"),
    ),
)
