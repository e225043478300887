"""What a browser can be asked, and the closed list of what may come of it."""

from enum import StrEnum

from angelia.core.errors import AngeliaError


class BrowserMissing(AngeliaError):
    """There is no browser on this machine, or no wall to put it behind; nothing was opened."""


class BrowserGone(AngeliaError):
    """The browser has ended; its pages are lost, and the next `browser_open` begins another."""


class ActOutcome(StrEnum):
    """What came of one act."""

    DONE = "done"
    GONE = "gone"
    """The element is no longer on the page."""
    COVERED = "covered"
    """Something lies over it, which would have taken the click."""
    DISABLED = "disabled"
    """It is there and takes nothing."""
    UNFIT = "not possible"
    """It was asked for something that is not there to be done: no such key, no such option, nothing to answer."""
    REFUSED = "refused"
    """The page has moved to a place for which nobody said yes."""
    DIALOG_OPEN = "dialog open"
    """The page asks something and waits for the answer."""
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    """The page's process has ended; the browser goes on."""
    NOT_LOADED = "not loaded"
    """The address could not be loaded."""


class ActFailed(Exception):
    """An act came to something else than `DONE`. The words are for the model, and end with what can be done."""

    def __init__(self, outcome: ActOutcome, why: str) -> None:
        self.outcome = outcome
        super().__init__(why)
