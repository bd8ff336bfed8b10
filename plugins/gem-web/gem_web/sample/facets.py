"""Facets and options that several kinds of products share.

A facet's line has the attribute and the sentences that a page may show for it. Some sentences name
the attribute, others say it in other words. No sentence names an attribute of another line.
"""

from gem_web.sample.kinds import choice, facet

__all__ = [
    "BLADE",
    "BLUETOOTH",
    "BPA",
    "CARE",
    "CHARGE",
    "CLOSURE",
    "CLOTH_COLORS",
    "CLOTH_SIZE",
    "COATING",
    "DIET",
    "DISH",
    "FABRIC",
    "FARMING",
    "FINISH",
    "FIT",
    "FOLDING",
    "GRIP",
    "HARDWOOD",
    "HOME_COLORS",
    "LIGHT",
    "MEMORY",
    "NECK",
    "NOISE",
    "PACKS",
    "PATTERN",
    "PLANT_POT",
    "POCKETS",
    "POWER",
    "ROUGH",
    "SCENTS",
    "SHOE_SIZE",
    "SKIN",
    "SLEEVE",
    "SOLE",
    "TECH_COLORS",
    "VESSEL",
    "WARMTH",
    "WATER",
]

# What clothes and textiles are.
FABRIC = facet(
    "made of {}",
    "cotton: Made of soft cotton | Fabric: cotton | Pure cotton, spun and woven in one mill",
    "linen: Made of linen | Fabric: linen | Airy linen with a dry touch",
    "polyester: Made of polyester | Fabric: polyester | Hard-wearing polyester yarn",
    "merino wool: Made of merino wool | Fabric: merino wool | Fine merino wool that does not itch",
    "bamboo viscose: Made of bamboo viscose | Fabric: bamboo viscose",
)
CARE = facet(
    "that is {}",
    "machine washable: Machine washable at 30 degrees | Care: machine washable"
    " | Goes into the washing machine with the rest of your laundry",
    "hand washable: Hand washable in cool water | Care: hand washable | Wash by hand and dry flat",
    "dry cleanable: Dry cleanable | Care: dry cleanable"
    " | Take it to the dry cleaner, water harms the fibers",
)
FINISH = facet(
    "that is {}",
    "wrinkle free: Wrinkle free straight out of the drawer | No ironing, the cloth stays smooth",
    "quick drying: Quick drying | Dries within an hour on the line",
    "moisture wicking: Moisture wicking | Draws sweat away from the skin",
    "stain resistant: Stain resistant | Spills roll off and leave no mark",
)
FIT = facet(
    "with a {}",
    "slim fit: Slim fit | Cut close to the body: slim fit",
    "regular fit: Regular fit | Fit: the classic cut, neither tight nor wide (regular fit)",
    "loose fit: Loose fit | Cut wide, with room to move: loose fit",
)
SLEEVE = facet(
    "",
    "long sleeve: Long sleeve | Sleeves reach down to the wrists",
    "short sleeve: Short sleeve | Sleeves end above the elbow",
    "sleeveless: Sleeveless | Without sleeves, the shoulders stay bare",
)
NECK = facet(
    "with a {}",
    "v neck: V neck | The neckline runs to a point in front",
    "crew neck: Crew neck | Round, close neckline",
    "boat neck: Boat neck | Wide neckline from shoulder to shoulder",
)
POCKETS = facet(
    "with a {}",
    "zip pocket: With a zip pocket | A pocket that closes with a zip",
    "chest pocket: With a chest pocket | A small pocket sits on the breast",
    "kangaroo pocket: With a kangaroo pocket | One large pouch in front warms both hands",
)
WARMTH = facet(
    "that is {}",
    "fleece lined: Fleece lined | Inside: a layer of brushed fleece",
    "insulated: Insulated | A padded layer keeps the cold out",
    "breathable: Breathable | Lets air through on hot days",
)
WATER = facet(
    "that is {}",
    "waterproof: Waterproof | Keeps water out, even in a long downpour",
    "splash resistant: Splash resistant | Bears a few drops, but not a bath",
    "windproof: Windproof | Stops the wind",
)
CLOSURE = facet(
    "",
    "lace up: Lace up | Closes with laces",
    "slip on: Slip on | No fastening, just step in",
    "buckle strap: Buckle strap | Fastens with a buckle at the side",
)
SOLE = facet(
    "with a {}",
    "rubber sole: Rubber sole | Underfoot: a sole of natural rubber",
    "cork sole: Cork sole | Underfoot: a sole of pressed cork",
    "foam sole: Foam sole | Underfoot: springy foam from heel to toe",
)
PATTERN = facet(
    "that is {}",
    "striped: Striped | Pattern: stripes",
    "checked: Checked | Pattern: checks",
    "floral: Floral | Pattern: small flowers",
    "plain: Plain | Pattern: none, plain all over",
)

# What is used in the kitchen.
VESSEL = facet(
    "made of {}",
    "stainless steel: Made of stainless steel | Material: stainless steel",
    "borosilicate glass: Made of borosilicate glass | Material: borosilicate glass",
    "stoneware: Made of stoneware | Material: stoneware, fired twice",
    "enamel: Made of enamel | Material: enamel on a metal core",
)
DISH = facet(
    "that is {}",
    "dishwasher safe: Dishwasher safe | Clean it in the dishwasher, top or bottom rack",
    "microwave safe: Microwave safe | Can be warmed up in the microwave",
    "oven proof: Oven proof | Goes into the oven up to 220 degrees",
)
BPA = facet(
    "that is {}",
    "bpa free: BPA free | Free of bisphenol A (bpa free)",
    "leakproof: Leakproof | Nothing drips, even upside down",
    "lead free: Lead free | Glaze and paint are lead free",
)
COATING = facet(
    "with a {}",
    "ceramic coating: Ceramic coating | Surface: ceramic coating",
    "granite coating: Granite coating | Surface: granite coating",
    "uncoated surface: Uncoated surface | Surface: bare metal, no coat at all (uncoated surface)",
)
GRIP = facet(
    "with a {}",
    "wooden handle: Wooden handle | Handle: beech, oiled by hand (wooden handle)",
    "silicone handle: Silicone handle | Handle: wrapped in silicone",
    "folding handle: Folding handle | Handle: folds flat for the drawer (folding handle)",
)
BLADE = facet(
    "that is {}",
    "serrated: Serrated | The edge has small teeth",
    "hand forged: Hand forged | Beaten into shape by a smith",
    "rust proof: Rust proof | Does not rust, even if left wet",
)

# What powers and lights a device.
POWER = facet(
    "that is {}",
    "battery powered: Battery powered | Runs on two AA cells (battery powered)",
    "solar powered: Solar powered | A panel on top gathers sunlight and no cell needs changing",
    "usb rechargeable: USB rechargeable | Charges from any USB port",
    "mains operated: Mains operated | Plugs into the wall socket",
)
LIGHT = facet(
    "that is {}",
    "dimmable: Dimmable | Brightness is set by a dial",
    "motion activated: Motion activated | Turns on when somebody walks by",
    "touch controlled: Touch controlled | A tap on the base switches it",
)
NOISE = facet(
    "that is {}",
    "noise cancelling: Noise cancelling | Microphones silence the world around you",
    "foldable: Foldable | Folds up to the size of a fist",
    "sweat proof: Sweat proof | Made for hard training, sweat does no harm",
)
BLUETOOTH = facet(
    "that is {}",
    "wireless: Wireless | No cord: pairs over radio within ten meters",
    "wired: Wired | Connects with a cord of fixed length (wired)",
)
CHARGE = facet(
    "that is {}",
    "fast charging: Fast charging | Half full after twenty minutes",
    "shockproof: Shockproof | Survives a fall from the table",
    "pocket sized: Pocket sized | Small enough for a trouser pocket",
)
MEMORY = facet(
    "with {}",
    "memory foam: Memory foam | Filling: memory foam that takes the shape of the body",
    "goose down: Goose down | Filling: goose down",
    "buckwheat hulls: Buckwheat hulls | Filling: buckwheat hulls, which can be topped up",
)

# What outdoor things and furniture are made of.
HARDWOOD = facet(
    "made of {}",
    "oak wood: Made of oak wood | Material: oak wood",
    "bamboo: Made of bamboo | Material: bamboo",
    "acacia: Made of acacia | Material: acacia, a dense timber",
    "recycled plastic: Made of recycled plastic | Material: recycled plastic",
)
PLANT_POT = facet(
    "made of {}",
    "terracotta: Made of terracotta | Material: terracotta",
    "concrete: Made of concrete | Material: concrete",
    "galvanized metal: Made of galvanized metal | Material: galvanized metal",
)
ROUGH = facet(
    "that is {}",
    "frost resistant: Frost resistant | May stay outside all winter",
    "fade proof: Fade proof | Keeps its color in the sun",
    "rust proof: Rust proof | Does not rust in the rain",
)
FOLDING = facet(
    "that is {}",
    "foldable: Foldable | Folds flat when not in use",
    "stackable: Stackable | Several of them stand on top of each other",
    "wall mounted: Wall mounted | Hangs on the wall, screws are included",
)

# What is eaten, and what touches the skin.
DIET = facet(
    "that is {}",
    "gluten free: Gluten free | No wheat, rye or barley (gluten free)",
    "sugar free: Sugar free | No sweetening of any kind: sugar free",
    "nut free: Nut free | Packed in a plant that handles no nuts (nut free)",
    "kosher: Kosher | Certified kosher",
)
FARMING = facet(
    "that is {}",
    "organic: Organic | Grown on organic farms",
    "fair trade: Fair trade | Growers get a fixed minimum price (fair trade)",
    "non gmo: Non GMO | No genetically modified plants (non gmo)",
)
SKIN = facet(
    "that is {}",
    "fragrance free: Fragrance free | Nothing added for the nose: fragrance free",
    "cruelty free: Cruelty free | Never tested on animals",
    "paraben free: Paraben free | Kept fresh with no parabens (paraben free)",
    "vegan: Vegan | Only ingredients from plants and minerals (vegan)",
)

# Options. Values in one group, such as sky blue/blue, count as the same color.
CLOTH_COLORS = choice(
    "color",
    "in {} | in the color {} | colored {}",
    "black | off white/white | navy | olive green/forest green/green | burgundy | teal"
    " | sky blue/royal blue/blue | mustard yellow | charcoal | coral | khaki | lavender"
    " | brick red/red | heather gray/gray | chocolate brown",
)
HOME_COLORS = choice(
    "color",
    "in {} | in the color {} | colored {}",
    "ivory | slate | sage green/green | dusty pink/blush pink/pink | terracotta orange/orange"
    " | navy | beige | charcoal | plum | pale yellow/yellow | turquoise | powder blue/blue",
)
TECH_COLORS = choice(
    "color",
    "in {} | in the color {} | colored {}",
    "matte black/black | pearl white/white | silver | rose gold/gold | navy | mint"
    " | cherry red/red | violet | graphite",
)
CLOTH_SIZE = choice("size", "in size {} | size {}", "xs | s | m | l | xl | xxl")
SHOE_SIZE = choice("size", "in size {} | size {}", "5 | 6 | 7 | 8 | 9 | 10 | 11 | 12")
PACKS = choice(
    "pack size",
    "as a {} | sold as a {}",
    "single pack | twin pack | family pack | bulk case | gift box",
)
SCENTS = choice(
    "scent",
    "with the scent {} | in the scent {}",
    "lavender | cedar | sea breeze | lemon | vanilla | jasmine | eucalyptus | rose petal",
)
