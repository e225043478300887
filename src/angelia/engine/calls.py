"""Where a call stands that has no result yet."""

from msgspec import Struct

from angelia.core.ids import CallId


class Wanted(Struct, frozen=True):
    """The model wants it; nobody has looked at it yet."""


class Started(Struct, frozen=True):
    """It ran, or runs. Seen by a decision, it was started in a life that ended."""

    replayable: bool


class Asked(Struct, frozen=True):
    """A person is asked. `at` is the entry that asked, `expires` Unix milliseconds or 0."""

    at: int
    expires: int


class Permitted(Struct, frozen=True):
    """A person said yes, or answered."""


class Declined(Struct, frozen=True):
    """A person said no."""

    why: str


CallState = Wanted | Started | Asked | Permitted | Declined


class OpenCall(Struct, frozen=True):
    """A call without a result."""

    id: CallId
    name: str
    state: CallState
