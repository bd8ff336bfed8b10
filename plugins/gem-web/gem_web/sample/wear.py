"""Kinds of products that people wear."""

from gem_web.sample import facets as f
from gem_web.sample.kinds import choice, facet, kind

__all__ = ["WEAR"]

WEAR = (
    kind(
        "t-shirt | tee | tee shirt",
        path="Clothing > Light Tops > T-Shirts",
        tags="Everyday Top | Weekend Tee | ",
        prices=(9, 30),
        facets=(f.FABRIC, f.CARE, f.FIT, f.SLEEVE, f.NECK, f.FINISH),
        choices=(f.CLOTH_COLORS, f.CLOTH_SIZE),
        about=(
            "A tee for work, for sport and for the sofa",
            "The seams lie flat and the hem is stitched twice",
            "We cut it from one piece so that it keeps its shape",
        ),
        extras=("Printed label inside, nothing scratches", "Pre-shrunk", "Double-stitched hem"),
    ),
    kind(
        "hoodie | hooded sweatshirt | hooded sweater",
        path="Clothing > Warm Tops > Hoodies",
        tags="Hooded Sweatshirt | Lounge Layer | ",
        prices=(22, 60),
        facets=(f.FABRIC, f.CARE, f.FIT, f.POCKETS, f.WARMTH),
        choices=(f.CLOTH_COLORS, f.CLOTH_SIZE),
        about=(
            "A hooded sweatshirt for cool evenings",
            "The hood is deep and has a cord that can be taken out",
            "Cuffs and hem are ribbed",
        ),
        extras=("Ribbed cuffs", "Deep hood with a cord", "Thumb holes in the cuffs"),
    ),
    kind(
        "jeans | denim pants | denim trousers",
        one="a pair of",
        path="Clothing > Legwear > Jeans",
        tags="Denim Pants | Rivet Trousers | ",
        prices=(25, 80),
        facets=(
            f.FIT,
            facet(
                "with a {}",
                "high waist: High waist | The waistband sits above the navel",
                "low waist: Low waist | The waistband sits on the hips",
                "elastic waist: Elastic waist | The waistband stretches",
            ),
            facet(
                "with a {}",
                "straight leg: Straight leg | From the knee down the width stays the same",
                "tapered leg: Tapered leg | Gets narrower towards the ankle",
                "wide leg: Wide leg | Falls wide from hip to hem: wide leg",
            ),
            facet(
                "",
                "button fly: Button fly | Closes with four buttons",
                "zip fly: Zip fly | Closes with a zip and one button",
            ),
            f.CARE,
        ),
        choices=(
            choice(
                "color",
                "in {} | in the color {}",
                "black | indigo | light wash | charcoal | off white/white | khaki",
            ),
            choice("waist", "with waist {} | waist {}", "28 | 30 | 32 | 34 | 36 | 38 | 40 | 42"),
        ),
        about=(
            "Trousers that are made to be worn for years",
            "Every stress point has a rivet",
            "They soften with each wash",
        ),
        extras=("Copper-colored rivets", "Five pockets", "Belt loops all around"),
    ),
    kind(
        "rain jacket | rain coat | shell jacket",
        path="Clothing > Outdoor Layers > Rain Jackets",
        tags="Shell with Hood | Storm Coat | ",
        prices=(30, 120),
        facets=(
            f.WATER,
            f.WARMTH,
            f.POCKETS,
            facet(
                "that is {}",
                "packable: Packable | Stuffs into its own pouch",
                "reflective: Reflective | Strips on back and arms shine in headlights",
            ),
            f.FIT,
        ),
        choices=(f.CLOTH_COLORS, f.CLOTH_SIZE),
        about=(
            "A shell for the way to work and for the hills",
            "Seams are taped from the inside",
            "The hem can be drawn tight with one hand",
        ),
        extras=("Taped seams", "Two-way front zipper", "Cuffs can be drawn tight"),
    ),
    kind(
        "socks | crew socks",
        one="a pair of",
        path="Clothing > Small Wear > Socks",
        tags="Calf Length Hosiery | ",
        prices=(6, 25),
        facets=(
            f.FABRIC,
            f.CARE,
            f.PATTERN,
            facet(
                "that is {}",
                "cushioned: Cushioned | Thick loops under heel and ball",
                "compression: Compression | Gentle pressure around the calf (compression)",
                "non slip: Non slip | Little dots under the foot keep it from sliding",
            ),
            f.FINISH,
        ),
        choices=(f.CLOTH_COLORS, f.PACKS),
        about=(
            "Made for long days on your feet",
            "The toe is closed by hand so that nothing presses",
            "Left and right are knitted differently",
        ),
        extras=("Flat toe seam", "Reinforced heel", "The cuff stays up without pressing"),
    ),
    kind(
        "scarf | neck scarf | shawl",
        path="Clothing > Accessories > Scarves",
        tags="Winter Shawl | Neck Wrap | ",
        prices=(12, 50),
        facets=(
            f.FABRIC,
            f.CARE,
            f.PATTERN,
            facet(
                "that is {}",
                "fringed: Fringed | Both ends have tassels",
                "reversible: Reversible | Two sides, both can be worn outside",
            ),
            f.FINISH,
        ),
        choices=(
            f.CLOTH_COLORS,
            choice("length", "with a length of {} | {} long", "60 in | 72 in | 85 in | 98 in"),
        ),
        about=(
            "A shawl that goes with any coat",
            "Woven on old looms in small lots",
            "Large enough to be a blanket on a train",
        ),
        extras=("Woven edge", "Comes in a cloth bag", "Light to carry"),
    ),
    kind(
        "pajamas | pyjamas | sleepwear",
        one="some",
        path="Clothing > Night Wear > Pajamas",
        tags="Two Piece Sleepwear | Bedtime Outfit | ",
        prices=(18, 65),
        facets=(f.FABRIC, f.CARE, f.SLEEVE, f.PATTERN, f.FIT, f.POCKETS),
        choices=(f.CLOTH_COLORS, f.CLOTH_SIZE),
        about=(
            "Sleepwear for people who move a lot at night",
            "Shirt and trousers are sold together",
            "The waistband has no label that scratches",
        ),
        extras=("Two pieces", "Soft waistband with a cord", "No scratching labels"),
    ),
    kind(
        "sneakers | trainers | gym shoes",
        one="a pair of",
        path="Shoes > Sport > Sneakers",
        tags="Running Trainers | Street Kicks | ",
        prices=(28, 110),
        facets=(
            f.CLOSURE,
            f.SOLE,
            facet(
                "made of {}",
                "canvas: Made of canvas | Upper: canvas",
                "suede: Made of suede | Upper: suede",
                "knit mesh: Made of knit mesh | Upper: knit mesh",
            ),
            facet(
                "with {}",
                "arch support: Arch support | The insole holds up the middle of the foot",
                "wide toe box: Wide toe box | Room for all toes (wide toe box)",
            ),
            f.WARMTH,
        ),
        choices=(f.CLOTH_COLORS, f.SHOE_SIZE),
        about=(
            "Trainers for the track and the town",
            "The insole can be taken out and aired",
            "Each shoe weighs less than an apple",
        ),
        extras=("Insole can be taken out", "Padded collar", "Pull tab at the heel"),
    ),
    kind(
        "slippers | house shoes",
        one="a pair of",
        path="Shoes > Indoors > Slippers",
        tags="Fireside Mules | Cozy Loafers | ",
        prices=(14, 48),
        facets=(
            f.SOLE,
            facet(
                "made of {}",
                "felted wool: Made of felted wool | Upper: felted wool",
                "sheepskin: Made of sheepskin | Upper: sheepskin",
                "corduroy: Made of corduroy | Upper: corduroy",
            ),
            facet(
                "with an {}",
                "open back: Open back | The heel stays free",
                "open toe: Open toe | Toes peek out in front",
            ),
            f.WARMTH,
            f.CARE,
        ),
        choices=(f.CLOTH_COLORS, f.SHOE_SIZE),
        about=(
            "House shoes for cold floors",
            "Made on the last of a walking shoe",
            "They make no sound on wood",
        ),
        extras=("Quiet on hard floors", "Shaped footbed", "Stitched, not glued"),
    ),
    kind(
        "hiking boots | walking boots | trekking boots",
        one="a pair of",
        path="Shoes > Outdoors > Hiking Boots",
        tags="Summit Footwear | Ankle High Trekkers | ",
        prices=(55, 190),
        facets=(
            f.WATER,
            f.SOLE,
            facet(
                "made of {}",
                "full grain leather: Made of full grain leather | Upper: full grain leather",
                "suede: Made of suede | Upper: suede",
                "synthetic leather: Made of synthetic leather | Upper: synthetic leather",
            ),
            facet(
                "with a {}",
                "steel toe: Steel toe | A steel cap guards the toes: steel toe",
                "wide toe box: Wide toe box | Room for all toes (wide toe box)",
            ),
            f.WARMTH,
        ),
        choices=(
            choice(
                "color", "in {} | in the color {}", "black | chestnut brown | olive | sand | slate"
            ),
            f.SHOE_SIZE,
        ),
        about=(
            "Boots for long days on rocky paths",
            "Hooks at the top let you tie them tight",
            "They can be resoled",
        ),
        extras=("Can be resoled", "Padded ankle", "Tongue keeps pebbles out"),
    ),
    kind(
        "backpack | rucksack | daypack",
        path="Luggage > Carried > Backpacks",
        tags="School Rucksack | Commuter Daypack | ",
        prices=(24, 110),
        facets=(
            f.WATER,
            facet(
                "made of {}",
                "canvas: Made of canvas | Outside: canvas",
                "ripstop nylon: Made of ripstop nylon | Outside: ripstop nylon",
                "vegan leather: Made of vegan leather | Outside: vegan leather",
            ),
            facet(
                "with a {}",
                "laptop sleeve: Laptop sleeve | A padded slot holds a 15 inch computer",
                "bottle holder: Bottle holder | A net on the side takes a flask",
                "rain cover: Rain cover | A hood for the bag hides in the bottom: rain cover",
            ),
            facet(
                "with a {}",
                "chest strap: Chest strap | A buckle in front joins both straps",
                "hip belt: Hip belt | A padded belt takes the load: hip belt",
            ),
        ),
        choices=(
            f.CLOTH_COLORS,
            choice(
                "capacity", "with a capacity of {} | that holds {}", "15 l | 22 l | 30 l | 45 l"
            ),
        ),
        about=(
            "A daypack for work, school and short trips",
            "The back panel keeps its form when the bag is empty",
            "All zippers have long pulls",
        ),
        extras=("Long zipper pulls", "Padded back", "Top loop to hang it up"),
    ),
)
