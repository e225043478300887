"""Who speaks, owns, approves or pays: one value, whose text is the same in logs, tables and settings."""

import unicodedata

from msgspec import Struct

from angelia.core.errors import BadInput

ALONE = frozenset({"angelia", "erased", "owner"})
"""Principals without an id: there is one of each in a home."""
SIGNAL = "signal"
"""The door of what signals us from outside: `signal:NAME` is whoever has the secret of that signal."""
MAIL = "mail"
"""The door of a mailbox: `mail:NAME` is whoever can write to it, which is anybody."""
FOLDER = "folder"
"""The door of a folder: `folder:NAME` is whoever can put something there."""
KEY = "key"
"""The door of the API: `key:NAME` is whoever has the key of that name."""
RESERVED = ALONE | {KEY, SIGNAL, MAIL, FOLDER}
"""What no channel is called, since it would speak for others."""

_FORMS = "A principal is `owner`, or a channel's name and an id of that network, such as telegram:4711."


class Principal(Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True, order=True):
    """Somebody as `door`, which vouches for them, knows them by `id`: never a name that its owner can change.

    >>> str(Principal("matrix", "@ann:example.org")), str(OWNER)
    ('matrix:@ann:example.org', 'owner')
    >>> Principal("owner", "4711")
    Traceback (most recent call last):
        ...
    ValueError: “owner:4711” names nobody: `owner` has no id.

    Raises:
        ValueError: it would name nobody, or could be read as somebody else.
    """

    door: str
    id: str = ""

    def __post_init__(self) -> None:
        if fault := _fault(self.door, self.id):
            raise ValueError(f"“{self}” names nobody: {fault}.")

    def __str__(self) -> str:
        return f"{self.door}:{self.id}" if self.id else self.door

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """The principal that is written like this; the inverse of `str`.

        >>> Principal.parse("matrix:@ann:example.org").id
        '@ann:example.org'

        Raises:
            BadInput: it names nobody; says why.
        """
        door, _, own = text.partition(":")
        try:
            found = cls(door, own)
            if str(found) != text:
                raise ValueError(f"“{text}” names nobody: nothing follows the colon.")
        except ValueError as error:
            raise BadInput(str(error), _FORMS) from error
        return found

    def sees(self, owner: "Principal") -> bool:
        """Whether they may see what is `owner`'s: everybody sees their own, the owner of a home all that is in it.

        >>> ann, ben = Principal("telegram", "1"), Principal("telegram", "2")
        >>> OWNER.sees(ann), ann.sees(ann), ann.sees(ben), ann.sees(OWNER)
        (True, True, False, False)
        """
        return self in (OWNER, owner)


def _fault(door: str, own: str) -> str:
    """Why nobody is called so; empty for somebody."""
    if not door:
        return "it has no channel"
    if ":" in door:
        return "a channel's name has no colon"
    if bad := next((letter for letter in door + own if unicodedata.category(letter) in ("Cc", "Cs")), ""):
        return f"it holds the character U+{ord(bad):04X}"
    if door in ALONE:
        return f"`{door}` has no id" if own else ""
    return "" if own else f"an id of {door} is missing"


OWNER = Principal("owner")
"""Whoever owns this home: at the terminal, in an editor, and through the ids that channels name as owners."""
ANGELIA = Principal("angelia")
"""Nobody else: we did it of our own accord, such as a no where nobody could be asked."""
ERASED = Principal("erased")
"""Somebody whose words were erased: who that was is not known any more."""
