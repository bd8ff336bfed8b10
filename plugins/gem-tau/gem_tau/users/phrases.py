"""What a message of an assistant does: asks for facts, asks to confirm, reports, refuses.

The scripted user reads messages by the words in them. The words are those of common English; a
message may do several things.
"""

import re

__all__ = ["asks_for", "asks_to_confirm", "asks_whether_more", "refuses", "reports_done"]

_WORDS: dict[str, tuple[str, ...]] = {
    "email": ("email", "e-mail"),
    "name": ("name",),
    "zip": ("zip", "postal code", "postcode"),
    "user_id": ("user id", "user_id", "username", "customer id", "account id", "profile id"),
    "order_id": ("order id", "order number", "which order", "order_id", "number of the order"),
    "reservation_id": (
        *("reservation id", "reservation number", "booking number", "confirmation number"),
        *("which reservation", "which booking", "booking reference", "reservation code"),
    ),
    "reason": ("reason", "why"),
    "payment": (
        *(
            "payment method",
            "payment_method",
            "how would you like to pay",
            "which card",
            "refund to",
        ),
        *("refunded to", "pay with", "pay for", "pay the difference", "gift card or", "paypal or"),
        *("receive the refund", "prefer to pay", "method of payment"),
    ),
    "address": ("address", "street"),
    "items": ("which item", "what item", "which product", "items would you", "item id", "item ids"),
    "options": ("which option", "what option", "which variant", "preference", "specification"),
    "date": ("date", "which day", "what day", "when would", "when do you"),
    "cabin": ("cabin", "class"),
    "passengers": ("passenger", "date of birth", "travelling", "traveling", "travellers"),
    "baggage": ("bag", "luggage", "suitcase"),
    "insurance": ("insurance",),
    "destination": ("destination", "where would you like to fly", "flying to", "fly to"),
    "origin": ("origin", "flying from", "depart from", "departing from"),
    "flight": ("which flight", "flight number", "prefer a flight", "time of day", "what time"),
}

_CONFIRM = re.compile(
    r"\bconfirm\b|\byes\s*/\s*no\b|\(yes\b|\byes or no\b|\bproceed\b|\bgo ahead\b|\bshall i\b"
    r"|\bshould i\b|\bwould you like me to\b|\bdo you want me to\b|\bdo you agree\b"
    r"|\bis (?:that|this) (?:ok|okay|correct|right|all right|alright|acceptable|fine)\b"
    r"|\bare you (?:sure|ok|okay|happy)\b|\bdoes (?:that|this) (?:work|sound|look)\b"
    r"|\bmay i\b.*\?|\bcan i go\b"
)
_MORE = re.compile(
    r"\b(?:anything|something|what) else\b|\bfurther (?:assistance|questions|help)\b"
    r"|\bother (?:questions|requests|issues|matters)\b|\bmore i can\b"
)
_DONE = re.compile(
    r"\b(?:has|have) (?:now )?(?:already )?been (?:successfully )?\w+(?:ed|ded|n|t)\b"
    r"|\bsuccess(?:ful|fully)\b|\ball (?:set|done)\b|\bis (?:now )?(?:done|complete|completed)\b"
    r"|\bi(?:'ve| have) (?:now )?(?:successfully )?(?:cancel|updat|chang|modif|process|book|return|"
    r"exchang|add|complet|submit|request)\w*\b"
)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_REFUSE = re.compile(
    r"\b(?:cannot|can not|can't|unable|not able|not possible|not allowed|not permitted|impossible"
    r"|not eligible|isn't possible|won't be able|not available|against (?:our|the) policy)\b"
)


def asks_for(name: str, message: str, further: tuple[str, ...] = ()) -> bool:
    """Return whether a message mentions a fact, so that a user would tell it.

    Args:
        name: The name of the fact; its underscores may be spaces.
        message: The message, in lower case.
        further: Further words, in lower case.
    """
    words = (*_WORDS.get(name, (name.replace("_", " "),)), *further)
    return any(word in message for word in words)


def asks_to_confirm(message: str) -> bool:
    """Return whether a message, in lower case, asks the user to agree to something.

    A sentence that asks whether there is anything else does not.
    """
    return any(
        _CONFIRM.search(sentence) and not _MORE.search(sentence)
        for sentence in _SENTENCE_END.split(message)
    )


def asks_whether_more(message: str) -> bool:
    """Return whether a message, in lower case, asks whether there is anything else."""
    return bool(_MORE.search(message))


def reports_done(message: str) -> bool:
    """Return whether a message, in lower case, says that something has been done."""
    return bool(_DONE.search(message))


def refuses(message: str) -> bool:
    """Return whether a message, in lower case, says that something cannot be done."""
    return bool(_REFUSE.search(message))
