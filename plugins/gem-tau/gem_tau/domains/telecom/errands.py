"""What an assistant asks a customer to do with the phone, found in its words.

A sentence asks for a tool by its name, such as "use toggle_roaming()", or in common words, such as
"turn Data Roaming on". If it says on or off, the customer looks first whether it is so already.
Sentences that tell what was done, or what not to do, ask for nothing. "If so, ..." is part of the
sentence before it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from gem_tau.toolkit import Errand

__all__ = ["errands_in"]

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?!If (?:so|it|that|they)\b)|\n+")
_NO_REQUEST = re.compile(
    r"\b(?:do not|don't|no need|avoid|never|without|instead of"
    r"|(?:i|we)(?:'ve| have|'ll| will| am going to)"
    r"|(?:shall|should|may|can|could) (?:i|we)|(?:like|want) me to|let me(?! know)"
    r"|(?:has|have|had) been|you(?:'ve| have)|thank you for|thanks for)\b"
)
_POINT = re.compile(r"\s*(?:[-*\u2022]|\d+[.)])\s")
_DIRECTION = re.compile(
    r"\b(?:(?P<on>enabl\w+|activat\w+|(?<=turn )on|(?<=switch )on|on(?=[\s.!?,;)]*$))"
    r"|(?P<off>disabl\w+|deactivat\w+|(?<=turn )off|(?<=switch )off|off(?=[\s.!?,;)]*$)))"
)
_CHANGE = re.compile(r"\b(?:turn|switch|toggl|enabl|disabl|activat|deactivat|make sure|set)")
_LOOK = re.compile(
    r"\b(?:check|look|see|tell|what|whether|if|is|are|does|show|verify|confirm|open|go to)\b"
)
_PERMISSION = re.compile(r"\b(sms|storage|phone|network)\b")
_MODE = re.compile(r"\b(4g_5g_preferred|4g_only|3g_only|2g_only)\b")
_SWITCHES = {
    "toggle_airplane_mode": ("airplane mode", "check_network_status", "Airplane Mode"),
    "toggle_roaming": ("roaming", "check_network_status", "Data Roaming"),
    "toggle_data_saver_mode": (
        "data saver",
        "check_data_restriction_status",
        "Data Saver Mode",
    ),
    "toggle_wifi_calling": ("wi-?fi calling", "check_wifi_calling_status", "Wi-Fi Calling"),
    "toggle_wifi": ("wi-?fi(?! calling)", "check_network_status", "Wi-Fi"),
    "toggle_data": (
        r"(?:mobile|cellular) data(?! (?:saver|roaming))",
        "check_network_status",
        "Mobile data",
    ),
}
"""Each switch: the words for it, the tool that shows it, and its name there."""
_DEEDS = {
    "reseat_sim_card": r"(?:re-?seat|re-?insert|remove|take out)\b.*\bsim\b",
    "check_sim_status": r"(?=.*\bsim\b)(?=.*\b(?:status|active|locked|missing|check|look))",
    "reset_apn_settings": r"\breset\b.*\bapn\b",
    "check_apn_settings": r"(?<!reset )(?<!reset the )(?<!reset your )\bapn\b",
    "reboot_device": r"\b(?:re-?boot|restart|power cycle)",
    "run_speed_test": r"\bspeed ?test\b",
    "check_status_bar": r"\bstatus bar\b",
    "disconnect_vpn": r"(?=.*\bvpn\b)(?=.*\b(?:disconnect|off|disable)\b)",
    "check_vpn_status": r"\bvpn\b",
    "can_send_mms": r"\b(?:can|try|able)\b.*\bsend\b.*\b(?:mms|picture|photo)",
    "make_payment": r"\b(?:make|complete|accept)\b.*\bpayment\b|\bpay (?:it|the|your)\b",
    "check_payment_request": r"\b(?:check|look|see)\b.*\bpayment request\b",
    "check_network_status": r"\bnetwork status\b",
}
"""Common words for the other tools; of those that match a part of a sentence, the first is used."""


def errands_in(message: str, named: Callable[[str], list[Errand]]) -> list[Errand]:
    """Return what a message asks for, in its order, without repetitions.

    Args:
        message: The message.
        named: Finds the tools that a sentence names.
    """
    found: list[Errand] = []
    is_request = True
    for sentence in _SENTENCE.split(message):
        low = sentence.lower().replace("\u2019", "'")
        if not _POINT.match(low):  # a point of a list is about what the line above it says
            is_request = True
        is_request = is_request and not _NO_REQUEST.search(low)
        if not is_request:
            continue
        by_name = [_directed(one, low) for one in named(sentence)]
        found += [one for one in by_name or _by_words(low) if one not in found]
    return [one for one in found if _is_complete(one)]


def _by_words(sentence: str) -> Iterator[Errand]:
    """Yield what a sentence, in lower case, asks for in common words."""
    yield from _switches_in(sentence)
    yield from _settings_in(sentence)
    done: set[str] = set()
    for tool, words in _DEEDS.items():
        topic = tool.partition("_")[2].split("_")[0]
        if topic not in done and re.search(words, sentence):
            done.add(topic)
            yield Errand(tool)


def _switches_in(sentence: str) -> Iterator[Errand]:
    changes = _CHANGE.search(sentence)
    for tool, (words, check, _) in _SWITCHES.items():
        if not re.search(words, sentence):
            continue
        if changes and _DIRECTION.search(sentence):
            yield _directed(Errand(tool), sentence)
        elif changes and "toggl" in sentence:
            yield Errand(tool)
        elif _LOOK.search(sentence):
            yield Errand(check)


def _settings_in(sentence: str) -> Iterator[Errand]:
    if "permission" in sentence and re.search(r"\b(?:grant|give|allow|enable)", sentence):
        for permission in _PERMISSION.findall(sentence):
            yield Errand("grant_app_permission", _grant(permission))
    elif "permission" in sentence:
        yield Errand("check_app_permissions", {"app_name": "messaging"})
    if re.search(r"network (?:mode|type)|preferred network", sentence):
        wants_5g = _CHANGE.search(sentence) and re.search(r"\b(?:4g|5g)\b", sentence)
        mode = {"mode": "4g_5g_preferred"}
        check = Errand("check_network_mode_preference")
        yield Errand("set_network_mode_preference", mode) if wants_5g else check


def _grant(permission: str) -> dict[str, str]:
    return {"app_name": "messaging", "permission": permission}


def _directed(errand: Errand, sentence: str) -> Errand:
    """Return an errand with what the sentence says about it: on or off, or a missing argument."""
    if errand.name in _SWITCHES and (directions := list(_DIRECTION.finditer(sentence))):
        _, check, name = _SWITCHES[errand.name]
        state = "ON" if directions[-1]["on"] else "OFF"
        return replace(errand, check=check, needless=f"{name}: {state}")
    if errand.name == "set_network_mode_preference" and "mode" not in errand.arguments:
        mode = _MODE.search(sentence)
        return replace(errand, arguments={"mode": mode[1] if mode else "4g_5g_preferred"})
    if errand.name == "grant_app_permission" and "permission" not in errand.arguments:
        permissions = _PERMISSION.findall(sentence.replace(errand.name, ""))
        return replace(errand, arguments=_grant(permissions[0])) if permissions else errand
    if errand.name in {"check_app_permissions", "check_app_status"}:
        return replace(errand, arguments={"app_name": "messaging", **errand.arguments})
    return errand


def _is_complete(errand: Errand) -> bool:
    needs = {"grant_app_permission": "permission", "set_apn_settings": "apn_settings"}
    return needs.get(errand.name, "") in {"", *errand.arguments}
