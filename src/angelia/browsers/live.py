"""A page as somebody watches it: pictures while it moves, and what a hand on mouse and keyboard does to it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

MOST_WORDS = 10_000
"""Characters that are typed by one event, such as what somebody pastes."""

Place = Annotated[float, Meta(ge=0, le=20_000)]
Button = Literal["left", "middle", "right"]
Modifiers = Annotated[int, Meta(ge=0, le=15)]
"""Alt 1, Control 2, Meta 4, Shift 8, added up."""


class LiveFrame(Struct, frozen=True):
    """What a page looked like at a moment. Never stored; secrets that a page shows are to be seen in it."""

    jpeg: bytes
    width: float
    height: float
    """The view in CSS pixels, in which pointers are told where they are; the picture itself may be smaller."""
    taken: float
    """Seconds since 1970."""


class LiveTab(Struct, frozen=True):
    """A tab that can be watched: its name, and the site that it is of, empty where it is of none."""

    name: str
    site: str


class LiveState(Struct, frozen=True):
    """What stands around a picture: the tabs, which of them is shown, and what its page asks before it goes on."""

    tabs: tuple[LiveTab, ...]
    shown: str
    asks: str = ""
    takes_words: bool = False
    """Whether its question is answered in words (`prompt`), not by yes and no alone."""

    @property
    def site(self) -> str:
        """Of the page that is shown."""
        return next((tab.site for tab in self.tabs if tab.name == self.shown), "")


class LiveSight(Struct, frozen=True):
    """What is new to whoever watches; without a picture it is what stands around it."""

    state: LiveState
    frame: LiveFrame | None = None


class PointerMoved(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="move"):
    """The pointer is here now; `held` is the button that is down."""

    x: Place
    y: Place
    held: Literal["none"] | Button = "none"
    modifiers: Modifiers = 0


class PointerPressed(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="down"):
    """A button goes down; `count` is 2 for the second press of a double click."""

    x: Place
    y: Place
    button: Button = "left"
    count: Annotated[int, Meta(ge=1, le=3)] = 1
    modifiers: Modifiers = 0


class PointerReleased(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="up"):
    """A button goes up."""

    x: Place
    y: Place
    button: Button = "left"
    count: Annotated[int, Meta(ge=1, le=3)] = 1
    modifiers: Modifiers = 0


class WheelTurned(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="wheel"):
    """The wheel, by so many CSS pixels; positive is down and to the right."""

    x: Place
    y: Place
    down: Annotated[float, Meta(ge=-5000, le=5000)] = 0
    right: Annotated[float, Meta(ge=-5000, le=5000)] = 0


class KeyPressed(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="key"):
    """A key with those that are held beside it, as `browser_act` takes them: `Enter`, `Control+a`."""

    keys: Annotated[str, Meta(min_length=1, max_length=60)]


class WordsTyped(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="type"):
    """Words where the page has its focus, in one go: what an input method made, or what was pasted."""

    text: Annotated[str, Meta(min_length=1, max_length=MOST_WORDS)]


LiveInput = PointerMoved | PointerPressed | PointerReleased | WheelTurned | KeyPressed | WordsTyped
"""All that a person can do to a page from elsewhere, as a union that msgspec reads by its field `do`."""
