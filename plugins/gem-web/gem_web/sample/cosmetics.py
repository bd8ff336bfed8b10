"""Kinds of products for skin and hair."""

from gem_web.sample import facets as f
from gem_web.sample.kinds import choice, facet, kind

__all__ = ["COSMETICS"]

COSMETICS = (
    kind(
        "shampoo | hair shampoo | hair wash",
        path="Beauty > Hair > Shampoos",
        tags="Hair Cleanser | Scalp Wash | ",
        prices=(6, 34),
        facets=(
            f.SKIN,
            facet(
                "for {}",
                "curly hair: For curly hair | Makes locks spring back: curly hair",
                "oily hair: For oily hair | Roots stay fresh for three days (oily hair)",
                "dry hair: For dry hair | Gives moisture to brittle ends: dry hair",
                "colored hair: For colored hair | Dye does not wash out (colored hair)",
            ),
            facet(
                "with {}",
                "argan oil: With argan oil | Active ingredient: argan oil",
                "tea tree: With tea tree | Active ingredient: tea tree",
                "rice water: With rice water | Active ingredient: rice water",
            ),
            facet(
                "that is {}",
                "sulfate free: Sulfate free | Foams without sulfates (sulfate free)",
                "silicone free: Silicone free | Nothing that coats the hair (silicone free)",
            ),
        ),
        choices=(
            f.SCENTS,
            choice("volume", "with {} | of {}", "4 oz | 8 oz | 16 oz | 32 oz"),
        ),
        about=(
            "A small amount is enough",
            "It rinses out quickly",
            "The cap opens with one hand",
        ),
        extras=("Rinses out quickly", "A little is enough", "Made in small lots"),
    ),
    kind(
        "hand cream | hand lotion | hand balm",
        path="Beauty > Body > Hand Creams",
        tags="Rich Moisturizer | Soothing Lotion | ",
        prices=(5, 28),
        facets=(
            f.SKIN,
            facet(
                "with {}",
                "shea butter: With shea butter | Active ingredient: shea butter",
                "aloe vera: With aloe vera | Active ingredient: aloe vera",
                "urea: With urea | Active ingredient: ten percent urea",
            ),
            facet(
                "that is {}",
                "non greasy: Non greasy | Leaves no film on the phone",
                "fast absorbing: Fast absorbing | Gone into the skin after a minute",
            ),
            facet(
                "for {}",
                "cracked skin: For cracked skin | Closes small splits: cracked skin",
                "mature skin: For mature skin | Evens out spots (mature skin)",
                "sensitive skin: For sensitive skin | Tested by skin doctors (sensitive skin)",
            ),
        ),
        choices=(f.SCENTS, f.PACKS),
        about=(
            "For hands that wash dishes and plant roses",
            "The tube can be emptied to the last drop",
            "Use it at night",
        ),
        extras=("Tube empties fully", "Fits a handbag", "For day and night"),
    ),
    kind(
        "bar soap | soap bar | soap",
        one="a",
        path="Beauty > Bath > Soaps",
        tags="Bath Lather | Cleansing Block | ",
        prices=(4, 22),
        facets=(
            f.SKIN,
            facet(
                "made with {}",
                "olive oil: Made with olive oil | Base: olive oil",
                "goat milk: Made with goat milk | Base: goat milk",
                "coconut oil: Made with coconut oil | Base: coconut oil",
            ),
            facet(
                "that is {}",
                "exfoliating: Exfoliating | Ground kernels rub off dead skin",
                "antibacterial: Antibacterial | Germs do not survive it",
                "moisturizing: Moisturizing | Leaves skin soft, without lotion",
            ),
            facet(
                "that is {}",
                "palm oil free: Palm oil free | No forest was cleared for it (palm oil free)",
                "plastic free: Plastic free | Wrapped in paper only",
            ),
        ),
        choices=(f.SCENTS, f.PACKS),
        about=(
            "Boiled in a kettle, cut by hand",
            "It dries for six weeks before we sell it",
            "Lasts a month of showers",
        ),
        extras=("Cut by hand", "Lasts a month", "Dried for six weeks"),
    ),
)
