"""Keys by name, as events of the browser's keyboard."""

from typing import Any

from angelia.browsers.port import ActFailed, ActOutcome

_MODIFIERS = {"alt": 1, "control": 2, "ctrl": 2, "meta": 4, "command": 4, "cmd": 4, "shift": 8}
_KEYS = {
    "enter": ("Enter", 13, "\r"),
    "tab": ("Tab", 9, ""),
    "escape": ("Escape", 27, ""),
    "backspace": ("Backspace", 8, ""),
    "delete": ("Delete", 46, ""),
    "space": (" ", 32, " "),
    "arrowup": ("ArrowUp", 38, ""),
    "arrowdown": ("ArrowDown", 40, ""),
    "arrowleft": ("ArrowLeft", 37, ""),
    "arrowright": ("ArrowRight", 39, ""),
    "home": ("Home", 36, ""),
    "end": ("End", 35, ""),
    "pageup": ("PageUp", 33, ""),
    "pagedown": ("PageDown", 34, ""),
    **{f"f{number}": (f"F{number}", 111 + number, "") for number in range(1, 13)},
}
_SHORT = {"esc": "escape", "return": "enter", "up": "arrowup", "down": "arrowdown", "left": "arrowleft"} | {
    "right": "arrowright",
    "del": "delete",
}


def key_events(keys: str) -> list[dict[str, Any]]:
    """Down and up of one key, with those that are held beside it: `Enter`, `a`, `Control+Shift+k`.

    Raises:
        ActFailed: nobody knows such a key.
    """
    *held, last = keys.split("+") if len(keys) > 1 else [keys]
    modifiers = 0
    for one in held:
        if one.strip().lower() not in _MODIFIERS:
            raise ActFailed(ActOutcome.UNFIT, f"{one!r} is no key that is held: Control, Shift, Alt or Meta.")
        modifiers |= _MODIFIERS[one.strip().lower()]
    key, code, text = _key(last.strip() or last)
    if modifiers & ~8:
        text = ""
    shared = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers, "code": _code(key)}
    down = {"type": "keyDown" if text else "rawKeyDown", **shared, **({"text": text} if text else {})}
    if modifiers == 2 and key.lower() == "a":
        down["commands"] = ["selectAll"]
    return [down, {"type": "keyUp", **shared}]


def _key(name: str) -> tuple[str, int, str]:
    known = _KEYS.get(_SHORT.get(name.lower(), name.lower()))
    if known:
        return known
    if len(name) == 1:
        return name, ord(name.upper()) if name.isascii() and name.isalnum() else 0, name
    some = ", ".join(shown for shown, _, _ in list(_KEYS.values())[:14])
    raise ActFailed(
        ActOutcome.UNFIT, f"There is no key {name!r}. There are letters, digits, signs and {some}, F1 to F12."
    )


def _code(key: str) -> str:
    if len(key) == 1 and key.isascii() and key.isalpha():
        return f"Key{key.upper()}"
    if len(key) == 1 and key.isdigit():
        return f"Digit{key}"
    return "Space" if key == " " else key if len(key) > 1 else ""
