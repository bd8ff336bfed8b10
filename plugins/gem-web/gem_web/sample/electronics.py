"""Kinds of electronic products."""

from gem_web.sample import facets as f
from gem_web.sample.kinds import choice, facet, kind

__all__ = ["ELECTRONICS"]

ELECTRONICS = (
    kind(
        "headphones | earphones",
        one="a pair of",
        path="Electronics > Audio > Headphones",
        tags="Stereo Headset | Listening Cans | ",
        prices=(22, 160),
        facets=(
            f.BLUETOOTH,
            f.NOISE,
            facet(
                "",
                "over ear: Over ear | Pads go around the whole ear: over ear",
                "supra aural: Supra aural | Small pads rest on the ears (supra aural)",
                "in ear: In ear | Sits in the canal, with three sizes of tips (in ear)",
            ),
            facet(
                "with a {}",
                "boom microphone: Boom microphone | An arm brings the mic to your mouth"
                " (boom microphone)",
                "volume limiter: Volume limiter | Never louder than 85 decibels (volume limiter)",
            ),
        ),
        choices=(
            f.TECH_COLORS,
            choice(
                "bundle",
                "as the {} | sold as the {}",
                "basic set | travel case kit | studio edition",
            ),
        ),
        about=(
            "For music, calls and films",
            "The sound is warm and clear",
            "Spare parts are sold for ten years",
        ),
        extras=("Spare parts for ten years", "Clear calls", "Soft band"),
    ),
    kind(
        "speaker | music speaker | sound box",
        path="Electronics > Sound > Speakers",
        tags="Music Loudspeaker | Party Boombox | ",
        prices=(20, 150),
        facets=(
            f.BLUETOOTH,
            f.WATER,
            facet(
                "with a {}",
                "carrying loop: Carrying loop | Hang it on a bag: carrying loop",
                "bike mount: Bike mount | A clamp for the handlebar: bike mount",
                "fm radio: FM radio | Receives radio stations (fm radio)",
            ),
            facet(
                "that is {}",
                "voice controlled: Voice controlled | Listens to what you say",
                "touch controlled: Touch controlled | Reacts to a tap on the top",
            ),
        ),
        choices=(
            f.TECH_COLORS,
            choice("power", "with {} of power | rated {}", "15 w | 30 w | 60 w | 240 w"),
        ),
        about=(
            "Fills a room or a small garden",
            "Two of them play together",
            "It plays for a day",
        ),
        extras=("Two play together", "Deep bass", "Plays for a day"),
    ),
    kind(
        "phone case | mobile cover | smartphone case",
        path="Electronics > Phones > Phone Cases",
        tags="Smartphone Cover | Mobile Bumper | ",
        prices=(7, 38),
        facets=(
            facet(
                "made of {}",
                "liquid silicone: Made of liquid silicone | Shell: liquid silicone",
                "aramid fiber: Made of aramid fiber | Shell: aramid fiber",
                "vegan leather: Made of vegan leather | Shell: vegan leather",
            ),
            facet(
                "that is {}",
                "shockproof: Shockproof | Survives a fall from the table",
                "transparent: Transparent | You see the phone through it",
                "biodegradable: Biodegradable | Rots on the compost within two years",
            ),
            facet(
                "with a {}",
                "card slot: Card slot | Holds two bank cards",
                "ring stand: Ring stand | A ring at the back props it up (ring stand)",
                "lens cover: Lens cover | A slide guards the camera: lens cover",
            ),
            facet(
                "that is {}",
                "magnet compatible: Magnet compatible | Sticks to magnetic chargers",
                "antibacterial: Antibacterial | Germs do not settle on it",
            ),
        ),
        choices=(
            f.TECH_COLORS,
            choice(
                "model",
                "for the model {} | for a {}",
                "zaro nine | vento mini | pluma ultra | kesto flip",
            ),
        ),
        about=(
            "Buttons stay easy to press",
            "The rim stands above the glass",
            "Slips into tight pockets",
        ),
        extras=("Raised rim", "Precise openings", "Thin"),
    ),
    kind(
        "power bank | portable charger | spare battery",
        path="Electronics > Charging > Power Banks",
        tags="Portable Charger | Energy Reserve | ",
        prices=(16, 85),
        facets=(
            f.CHARGE,
            facet(
                "that is {}",
                "solar powered: Solar powered | A panel on top gathers sunlight",
                "airline approved: Airline approved | May be taken into the cabin",
            ),
            facet(
                "with a {}",
                "built in cable: Built in cable | The cord is part of it (built in cable)",
                "digital display: Digital display | Shows the charge as a number",
                "wireless pad: Wireless pad | Lay your phone on it: wireless pad",
            ),
            facet(
                "with {}",
                "two ports: Two ports | Feeds two devices (two ports)",
                "four ports: Four ports | Feeds four devices (four ports)",
            ),
        ),
        choices=(
            f.TECH_COLORS,
            choice("capacity", "with {} | of {}", "5000 mah | 12000 mah | 26800 mah"),
        ),
        about=(
            "Never look for a socket at the airport again",
            "It keeps its charge for months",
            "A pouch is included",
        ),
        extras=("Pouch included", "Holds its charge", "Safe from overheating"),
    ),
    kind(
        "keyboard | computer keyboard | typing keyboard",
        path="Electronics > Computing > Keyboards",
        tags="Typing Console | Computer Keys | ",
        prices=(22, 140),
        facets=(
            f.BLUETOOTH,
            facet(
                "that is {}",
                "mechanical: Mechanical | Each key has its own switch and spring",
                "silent: Silent | Typing makes no noise",
            ),
            facet(
                "that is {}",
                "backlit: Backlit | Letters shine in the dark",
                "spill proof: Spill proof | Coffee runs off through channels",
            ),
            facet(
                "with a {}",
                "number pad: Number pad | Digits have their own block on the right (number pad)",
                "palm rest: Palm rest | A soft ledge for your hands: palm rest",
                "volume wheel: Volume wheel | A roller makes it louder (volume wheel)",
            ),
        ),
        choices=(
            f.TECH_COLORS,
            choice(
                "layout",
                "with the layout {} | with the {} layout",
                "english us | german | french | nordic",
            ),
        ),
        about=(
            "Write all day without tired fingers",
            "It works with every system",
            "Feet at the back set the angle",
        ),
        extras=("Works with every system", "Two angles", "Keycaps can be replaced"),
    ),
    kind(
        "charging cable | charger cable | usb cable",
        path="Electronics > Leads > Charging Cables",
        tags="Connector Wire | Data Cord | ",
        prices=(6, 28),
        facets=(
            f.CHARGE,
            facet(
                "that is {}",
                "braided: Braided | Woven around with nylon",
                "coiled: Coiled | Springs back like the cord of old phones",
                "magnetic: Magnetic | The plug jumps into place",
            ),
            facet(
                "with a {}",
                "right angle plug: Right angle plug | The end turns to the side (right angle plug)",
                "led indicator: LED indicator | A small lamp shows that it charges (led indicator)",
            ),
            facet(
                "that is {}",
                "tangle free: Tangle free | No knots in your bag",
                "rust proof: Rust proof | Contacts do not rust at sea",
            ),
        ),
        choices=(
            choice("length", "with a length of {} | {} long", "2 ft | 3 ft | 6 ft | 10 ft"),
            f.TECH_COLORS,
        ),
        about=(
            "It bends twenty thousand times",
            "Carries pictures as well as power",
            "A strap keeps it rolled up",
        ),
        extras=("Strap included", "Bends often", "Slim ends"),
    ),
)
