"""What customers write about any product: a title, stars and a text."""

__all__ = ["REVIEWS"]

REVIEWS = (
    ("Exactly as described", 5.0, "It is what the page says. I would order it again."),
    ("Good value", 4.0, "I have paid more for less. One star off because the parcel was late."),
    ("A present", 5.0, "Bought for my aunt, and she has not stopped talking about it."),
    ("Does what it should", 4.0, "No surprises. I have used it for two months."),
    ("My second order", 5.0, "The first one went to my brother, so I needed another."),
    ("Okay", 3.0, "It is fine for the price. The box was dented, the inside was not."),
    ("Choose your options with care", 3.0, "I took the wrong one. The exchange was quick, though."),
    ("Not for me", 2.0, "Well made, but I had expected something else. Read the features first."),
    ("Fast delivery", 5.0, "Ordered on Monday, here on Tuesday."),
    ("Better than the last one", 4.0, "I had another brand before. This one feels more solid."),
    ("Customer service helped", 4.0, "A part was missing. I wrote an email and got it in a week."),
    ("Disappointed", 1.0, "Mine broke in the second week. I am waiting for my money."),
    ("Everybody asks about it", 5.0, "Three colleagues have ordered the same since."),
    ("Looks like the picture", 4.0, "Colors on my screen were a little brighter."),
)
