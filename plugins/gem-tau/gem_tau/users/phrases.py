"""The acts in a message of an assistant: it asks for facts, asks to confirm, reports, refuses.

The scripted user reads messages by the words in them. The words are those of common English; a
message may do several things. Where words have other uses, these are cut out first: "to proceed, I
need your name" does not ask to confirm, and "the order has been delivered" does not report.
"""

import re

__all__ = [
    "asks_for",
    "asks_for_oneself",
    "asks_to_confirm",
    "asks_whether_complete",
    "asks_whether_more",
    "has_amount",
    "offers_instead",
    "postpones",
    "refuses",
    "reports_done",
    "requests_in",
]

_WORDS: dict[str, tuple[str, ...]] = {
    "email": ("email", "e-mail"),
    "name": ("name",),
    "zip": ("zip", "postal code", "postcode"),
    "user_id": ("user id", "user_id", "username", "customer id", "account id", "profile id"),
    "order_id": ("order id", "order number", "which order", "order_id", "number of the order"),
    "reservation_id": (
        *("reservation id", "reservation number", "booking number", "confirmation number"),
        *("which reservation", "which booking", "booking reference", "reservation code"),
        *("confirmation code", "booking code", "booking id", "record locator"),
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
        *("cover the cost", "receive the refund", "prefer to pay", "method of payment"),
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
    "phone": ("phone number", "number of your line", "mobile number"),
    "location": ("abroad", "traveling", "travelling", "your location", "where are you"),
    "data": ("how much data", "how many gb", "how many gigabytes", "data plan"),
    "flight": ("which flight", "flight number", "prefer a flight", "time of day", "what time"),
}


def _any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern of whole words that match one of some patterns."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)")


_OWN = (
    r"(?:(?:full|first|last|registered|current|account|user|customer) )*(?:identity|e-?mail|name"
    r"|zip|postal|account|user|customer|details|information|order (?:id|number)|phone|reason)"
)
_READ = r"(?:look|check|find|search|explain|list|show|tell|provide|see|share|transfer|connect)"
_OF_ORDER = r"(?:in|from|on) (?:this|that|the|your) (?:\w+ )?order"
_FIRST = r"before (?:i|we|submitting|proceeding|finalizing|making)"
_CHANGED = r"(?:cancel+ed|updated|changed|modified|submitted|exchanged|returned|refunded)"
_CONFIRM = _any_of(
    *("confirm", r"yes\s*/\s*no", r"\(yes", "yes or no", "proceed", "go ahead"),
    *("shall i", "should i", "would you like me to", "do you want me to", r"may i(?=.*\?)"),
    *("do you agree", "do i have your", "are you (?:sure|ok|okay|happy)", "can i go"),
    "ready for me to",
    *("(?:reply|answer|say|respond|type) .{0,20}yes", r"ok(?:ay)?\?", r"sounds? good\?"),
    r"looks? (?:good|right|correct)\?",
    r"is (?:that|this|everything) (?:all )?(?:ok|okay|correct|right|al+ ?right|acceptable|fine)",
    "does (?:all )?(?:that|this) (?:work|sound|look)",
    "do you (?:still want to|want to (?:go|continue|cancel|make))",
    "would you like to (?:go ahead|proceed|continue)",
)
_NO_CONFIRM = _any_of(
    rf"(?:confirm|verify)(?: with me| for me| me)?:? (?:your|the) {_OWN}",
    "confirm (?:which|what|who|why|where|how)",
    "^(?:in order )?to (?:proceed|go ahead)",
    "before (?:i|we) (?:can )?(?:proceed|go ahead)",
    r"how [\w ]*proceed",
    r"(?:need|needed|require|required) [^.?!]*to (?:proceed|go ahead)",
    "so (?:that )?(?:i|we) can (?:proceed|go ahead)",
    "(?:cannot|can't|unable to) proceed",
    rf"go ahead and {_READ}",
    rf"(?:would you like me to|do you want me to|shall i|should i|may i) {_READ}",
    "may i (?:have|ask|know|please|get)",
    "(?:should|shall) i (?:use|charge)",
    r"(?:which|what|where|why|how)[^.?!,:]* (?:should i|shall i|would you like me to"
    "|do you (?:still )?want(?: me)? to|may i)",
)
_MORE = _any_of(
    *("(?:anything|something|what) else", "more i can", "else i can"),
    "further (?:assistance|questions|help)",
    "other (?:questions|requests|issues|matters)",
    "(?:help|assist) you (?:with )?(?:further|anything more)",
)
_COMPLETE = _any_of(
    rf"(?:anything|something|what) else .*{_OF_ORDER}",
    rf"anything else .*{_FIRST}",
    rf"{_FIRST} .*(?:anything else|other items?)",
    "anything else (?:you(?:'d| would) like )?to (?:exchange|modify|change|return|add|include)",
    "are (?:these|those|there) (?:all|any other|other) (?:of )?(?:the )?(?:items?|changes?)",
    "is (?:this|that|it) (?:everything|all|the only)",
    "any other (?:items?|products?|changes?)",
)
_DONE = _any_of(
    r"(?:has|have) (?:now )?(?:already )?been (?:successfully )?\w+(?:ed|ded|n|t)",
    *("success(?:ful|fully)", "all (?:set|done)", "is (?:now )?(?:done|complete|completed)"),
    r"i(?:'ve| have)? (?:now )?(?:successfully )?(?:just )?(?:cancel|updat|chang|modif|process|book"
    r"|return|exchang|add|complet|submit|request|switch|refund)\w*ed",
    *("gone ahead", "done[.!]", r"(?:is|are) now \w+ed", f"(?:is|was|were) {_CHANGED}"),
    *("went through", "(?:is|are) (?:booked|confirmed)", "i(?:'ve| have) (?:sent|issued)"),
    "(?:booking|cancellation|change|update) (?:is )?complete",
    "you(?:'ll| will) (?:shortly )?(?:receive|get) an e-?mail",
)
_STATUS = _any_of(
    r"order [^.?!]{0,60}(?:has|have) (?:already |now |not )?been (?:processed|placed|paid)",
    "been (?:delivered|shipped|verified|identified|located|found|authenticated|confirmed)",
    "successfully (?:verified|located|found|identified|authenticated|retrieved|delivered)",
)
_POSTPONE = _any_of(
    *("(?:one|a|just a) (?:moment|second|minute)", "hold on", "bear with", "please (?:wait|hold)"),
    "(?:let me|i(?:'ll| will)(?: now)?|i(?:'m| am) going to) (?:quickly )?"
    "(?:check|look|find|pull|see|verify|search|retrieve|review|get|open)",
)
_REFUSE = _any_of(
    *("cannot", "can not", "can't", "couldn't", "unable", "not able", "won't be able"),
    *("not possible", "isn't possible", "impossible", "only possible", "not eligible"),
    *("(?:does not|doesn't|do not|don't) qualify", "must decline", "have to deny", "aren't"),
    *(
        "not (?:something )?(?:our|the) policy permits",
        "no compensation",
        "i(?:'m| am) sorry, but no",
    ),
    "only [^.?!]{1,40} can be",
    *(
        "not allowed",
        "not permitted",
        "not supported",
        "isn't (?:allowed|permitted|something)",
        "not available",
    ),
    *(
        "against (?:our|the|my) (?:policy|rules)",
        "can only",
        "no longer (?:be|eligible|possible)",
        "not something i",
    ),
    *("don't have the ability", "must (?:go|be refunded)", "have to (?:decline|refuse)"),
    "(?:doesn't|does not|don't|do not) (?:allow|permit|support)",
)
_NO_REFUSAL = _any_of(
    r"(?:cannot|can not|can't|unable to|not able to|couldn't) [^.?!]*"
    r"(?:find|locate|verify|identify|access|look|without|until|unless|see)",
    r"can only [^.?!]*(?:after|once)",
)
_WHO = _any_of(
    *("you are", "you're", "am i (?:speaking|talking) (?:with|to)"),
    "i(?:'m| am) (?:speaking|talking) (?:with|to)",
    r"your (?:(?:full|first|last|registered) )?(?:name|e-?mail(?: address)?|zip(?: code)?|user id)"
    r"(?: on file)? is",
    r"i (?:have |see |found |located )+(?:you|your (?:account|profile|name|e-?mail))",
)
_RIGHT = _any_of("is (?:that|this|it) (?:correct|right|you|accurate)", r"right\?", r"correct\?")
_ACTION = _any_of(
    *(
        "(?:i will|i'll|i am going to|i'm going to)",
        "proceed",
        "go ahead",
        "to do",
        r"[$\u20ac]\s?\d+",
    ),
    r"(?:cancel|exchang|return|refund|book|chang|updat|modif|lend|add|order|reserv|pay|want)\w*",
)
_INSTEAD = _any_of(
    *("instead", "alternatively", "as an alternative", "rather", "something else"),
    *("a (?:different|new|separate)", "an? other", "another"),
)
_NUMBER_WORD = (
    "(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    "|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)"
)
_NUMBER = re.compile(rf"(?<![\w#])\$?\d|\b{_NUMBER_WORD}\b(?! (?:moment|second|minute))")
_REQUEST_END = re.compile(r"(?<=[.?!])\s+")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+|\n+")
_REQUEST = _any_of(
    *(r"[^?]*\?", "please", "could you", "can you", "need", "require", "provide", "tell me"),
    *("let me know", "share", "give me", "send me", "specify", "which", "what"),
)


def requests_in(message: str) -> str:
    """Return a message, in lower case, from the first sentence that asks for something."""
    sentences = _REQUEST_END.split(message)
    first = next((i for i, one in enumerate(sentences) if _REQUEST.search(one)), len(sentences))
    return " ".join(sentences[first:])


def asks_for(name: str, message: str, further: tuple[str, ...] = ()) -> bool:
    """Return whether a message mentions a fact, so that a user would tell it.

    Args:
        name: The name of the fact; its underscores may be spaces.
        message: The message, in lower case.
        further: Further words, in lower case.
    """
    words = (*_WORDS.get(name, (name.replace("_", " "),)), *further)
    message = message.replace("email address", "email").replace("e-mail address", "e-mail")
    return any(word in message for word in words)


def asks_to_confirm(message: str) -> bool:
    """Return whether a message, in lower case, asks the user to agree to something.

    A sentence that asks whether there is anything else does not.
    """
    return any(
        _CONFIRM.search(_NO_CONFIRM.sub("", sentence)) and not _MORE.search(sentence)
        for sentence in _SENTENCE_END.split(message)
    )


def asks_for_oneself(message: str) -> bool:
    """Return whether a message, in lower case, only asks if it has found the right person."""
    return bool(_WHO.search(message) and _RIGHT.search(message) and not _ACTION.search(message))


def offers_instead(message: str) -> bool:
    """Return whether a message, in lower case, refuses something and offers something else."""
    return refuses(message) and any(
        _INSTEAD.search(sentence) and _CONFIRM.search(_NO_CONFIRM.sub("", sentence))
        for sentence in _SENTENCE_END.split(message)
    )


def has_amount(message: str) -> bool:
    """Return whether a message, in lower case, states a number outside of its questions."""
    return any(
        _NUMBER.search(sentence)
        for sentence in _SENTENCE_END.split(message)
        if not sentence.endswith("?")
    )


def asks_whether_more(message: str) -> bool:
    """Return whether a message, in lower case, asks whether there is anything else."""
    return any(
        _MORE.search(sentence) and not _COMPLETE.search(sentence)
        for sentence in _SENTENCE_END.split(message)
    )


def asks_whether_complete(message: str) -> bool:
    """Return whether a message, in lower case, asks whether a request is complete."""
    return any(_COMPLETE.search(sentence) for sentence in _SENTENCE_END.split(message))


def reports_done(message: str) -> bool:
    """Return whether a message, in lower case, says that something has been done."""
    return bool(_DONE.search(_STATUS.sub("", message)))


def postpones(message: str) -> bool:
    """Return whether a message, in lower case, ends by asking to wait."""
    return bool(_POSTPONE.search(_SENTENCE_END.split(message.strip())[-1]))


def refuses(message: str) -> bool:
    """Return whether a message, in lower case, says that something cannot be done."""
    return bool(_REFUSE.search(_NO_REFUSAL.sub("", message)))
