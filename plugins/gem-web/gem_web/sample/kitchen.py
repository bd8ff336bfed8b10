"""Kinds of products for the kitchen."""

from gem_web.sample import facets as f
from gem_web.sample.kinds import choice, facet, kind

__all__ = ["KITCHEN"]

KITCHEN = (
    kind(
        "mug | cup | coffee cup",
        path="Kitchen > Drinkware > Mugs",
        tags="Breakfast Cup | Big Handle Drinkware | ",
        prices=(7, 30),
        facets=(
            f.VESSEL,
            f.DISH,
            f.BPA,
            facet(
                "that is {}",
                "hand painted: Hand painted | Each one is painted by hand",
                "double walled: Double walled | Two walls with air between keep drinks hot",
            ),
        ),
        choices=(
            f.HOME_COLORS,
            choice(
                "capacity", "with a capacity of {} | that holds {}", "8 oz | 12 oz | 16 oz | 20 oz"
            ),
        ),
        about=(
            "A cup for the first minutes of the day",
            "The rim is thin and the foot does not scratch the table",
            "Fits under most machines",
        ),
        extras=("Fits three fingers", "Foot does not scratch", "Looks good on a shelf"),
    ),
    kind(
        "skillet | frying pan | frypan",
        path="Kitchen > Cookware > Skillets",
        tags="Frying Pan | Stovetop Frypan | ",
        prices=(18, 90),
        facets=(
            facet(
                "made of {}",
                "cast iron: Made of cast iron | Body: cast iron",
                "carbon steel: Made of carbon steel | Body: carbon steel",
                "forged aluminum: Made of forged aluminum | Body: forged aluminum",
            ),
            f.COATING,
            f.GRIP,
            facet(
                "that is {}",
                "induction ready: Induction ready | Works on induction stoves",
                "oven proof: Oven proof | Goes into the oven up to 250 degrees",
            ),
        ),
        choices=(
            choice("diameter", "with a diameter of {} | {} wide", "8 in | 10 in | 12 in | 14 in"),
            choice(
                "color",
                "in {} | in the color {}",
                "black | copper | cherry red/red | sage green/green | ivory",
            ),
        ),
        about=(
            "A pan for eggs, fish and steaks",
            "The rim pours without dripping",
            "Heat spreads evenly to the edge",
        ),
        extras=("Rim pours cleanly", "Hole to hang it up", "Even heat"),
    ),
    kind(
        "chef knife | kitchen knife | cook's knife",
        path="Kitchen > Cutlery > Chef Knives",
        tags="Cutlery for Cooks | Sharp Slicer | ",
        prices=(18, 120),
        facets=(
            facet(
                "made of {}",
                "damascus steel: Made of damascus steel | Blade: damascus steel in 67 layers",
                "zirconia ceramic: Made of zirconia ceramic | Blade: zirconia ceramic",
                "carbon steel: Made of carbon steel | Blade: carbon steel",
            ),
            f.BLADE,
            f.GRIP,
            facet(
                "with a {}",
                "full tang: Full tang | The metal runs to the end of the handle",
                "blade guard: Blade guard | A sheath covers the edge in the drawer",
            ),
        ),
        choices=(
            choice("length", "with a length of {} | {} long", "5 in | 7 in | 8 in | 10 in"),
            f.PACKS,
        ),
        about=(
            "One knife for meat, fish and vegetables",
            "Ground to an angle of fifteen degrees",
            "It arrives ready to use",
        ),
        extras=("Ready to use", "Balanced in the hand", "Can be honed at home"),
    ),
    kind(
        "water bottle | drinking bottle | flask",
        path="Kitchen > On the Go > Water Bottles",
        tags="Drinking Flask | Hydration Canteen | ",
        prices=(9, 45),
        facets=(
            f.VESSEL,
            f.BPA,
            facet(
                "that is {}",
                "vacuum insulated: Vacuum insulated | Ice lasts a whole day inside",
                "collapsible: Collapsible | Can be rolled up when empty",
            ),
            facet(
                "with a {}",
                "straw lid: Straw lid | Sip without tilting: straw lid",
                "screw cap: Screw cap | Closes with a screw cap",
                "flip lid: Flip lid | Opens with a flick of the thumb (flip lid)",
            ),
            facet(
                "that is {}",
                "dishwasher safe: Dishwasher safe | Clean it in the dishwasher",
            ),
        ),
        choices=(
            f.TECH_COLORS,
            choice(
                "capacity", "with a capacity of {} | that holds {}", "12 oz | 18 oz | 24 oz | 32 oz"
            ),
        ),
        about=(
            "A flask for the desk and the trail",
            "Fits into most cup holders",
            "The mouth is wide enough for ice",
        ),
        extras=("Fits cup holders", "Wide mouth", "Loop for a carabiner"),
    ),
    kind(
        "kettle | tea kettle | water kettle",
        path="Kitchen > Appliances > Kettles",
        tags="Quick Boiler | Gooseneck Pourer | ",
        prices=(22, 95),
        facets=(
            f.VESSEL,
            facet(
                "that is {}",
                "cordless: Cordless | Lifts off its base, no cable in the way",
                "whistling: Whistling | Sings when the water boils",
            ),
            facet(
                "with {}",
                "temperature control: Temperature control | Stops at any degree that you set",
                "auto shutoff: Auto shutoff | Turns itself off when it boils",
            ),
            f.GRIP,
        ),
        choices=(
            choice("capacity", "with a capacity of {} | that holds {}", "0.8 l | 1.2 l | 1.7 l"),
            f.TECH_COLORS,
        ),
        about=(
            "Water for a pot of tea in four minutes",
            "The spout pours a thin, steady stream",
            "Marks inside show the number of cups",
        ),
        extras=("Marks for cups inside", "Thin spout", "Filter against scale"),
    ),
    kind(
        "lunch box | bento box | food box",
        path="Kitchen > Storage > Lunch Boxes",
        tags="Bento Container | Meal Carrier | ",
        prices=(9, 40),
        facets=(
            f.VESSEL,
            f.BPA,
            f.DISH,
            facet(
                "with {}",
                "two compartments: Two compartments | Divided in two, so nothing mixes",
                "one big compartment: One big compartment | No walls inside: one big compartment",
                "removable dividers: Removable dividers | Walls inside can be taken out",
            ),
        ),
        choices=(f.HOME_COLORS, f.PACKS),
        about=(
            "Take last night's dinner to work",
            "The clips last for years and can be replaced",
            "It fits into a small bag",
        ),
        extras=("Strong clips", "Fork fits inside the lid", "Corners are easy to clean"),
    ),
    kind(
        "cutting board | chopping board",
        path="Kitchen > Tools > Cutting Boards",
        tags="Chopping Slab | Carving Plank | ",
        prices=(10, 60),
        facets=(
            f.HARDWOOD,
            facet(
                "with a {}",
                "juice groove: Juice groove | A channel around the edge catches liquid",
                "carrying handle: Carrying handle | An opening to hold it by (carrying handle)",
            ),
            facet(
                "that is {}",
                "non slip: Non slip | Feet hold it in place",
                "reversible: Reversible | Use both sides",
                "knife friendly: Knife friendly | Keeps your blades sharp",
            ),
            facet(
                "that is {}",
                "dishwasher safe: Dishwasher safe | Clean it in the dishwasher",
                "odor free: Odor free | Does not take on the smell of onions",
            ),
        ),
        choices=(
            choice("size", "in the size {} | size {}", "small | medium | large"),
            f.PACKS,
        ),
        about=(
            "A board for bread, herbs and roasts",
            "It does not warp if it dries standing up",
            "Edges are rounded",
        ),
        extras=("Rounded edges", "Made in one piece", "Thick enough to last"),
    ),
)
