"""Invented names and streets for generated airlines."""

__all__ = ["FIRST_NAMES", "LAST_NAMES", "STREETS"]

FIRST_NAMES = tuple(
    """Abel Ada Alma Anton Astrid Basil Beata Bruno Carla Cedric Celia Dora Edgar Edith Elin Emil
    Enzo Esther Fay Felix Flora Gerda Gilda Gwen Hanna Hector Hugo Ida Ines Ivo Jana Jasper Jolan
    Kai Karin Lars Lena Lionel Livia Lorna Magda Malin Marek Milo Mira Nadia Nils Nora Odette Olaf
    Otto Paula Petra Quinn Rafael Rosa Ruben Selma Silas Sven Tessa Tilda Ulla Uri Vera Viktor
    Wanda Willa Xenia Yara Yves Zelda Zoran""".split()  # noqa: SIM905 - a list of 73 texts is hard to read
)
LAST_NAMES = tuple(
    """Abbing Alder Arnott Ashdown Barlow Beckett Birch Bramwell Brandt Calder Carver Castell Corby
    Dalton Denholm Drummond Eastman Ekdahl Elwood Falk Farrow Fenwick Garland Gifford Granger
    Hadley Halvorsen Harte Hollis Ingram Jarvis Keating Kessler Kirkland Langley Larkin Lindqvist
    Lowell Marsden Mercer Merrick Norling Norwood Oakley Osgood Palfrey Penrose Pryor Quill Radley
    Redfern Rowe Sandell Selby Sheldon Stroud Tarrant Thorne Tolland Ulrich Vance Verney Wadley
    Waring Whitlock Winslow Wren Yardley Yates Zeller""".split()  # noqa: SIM905 - see above
)
STREETS = tuple(
    f"{name} {kind}"
    for kind in ("Street", "Avenue", "Lane")
    for name in ("Alder", "Beacon", "Chapel", "Dover", "Elm", "Ferry", "Grove", "Harbor", "Mill")
)
