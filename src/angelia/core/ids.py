"""Sortable identifiers, made from a clock and randomness that are handed in."""

import os
import time
from collections.abc import Callable
from typing import NamedTuple, NewType

ConversationId = NewType("ConversationId", str)

PlaceId = NewType("PlaceId", str)
"""Where conversations work. A conversation that begins a place of its own gives it its own id; others name it."""
CallId = NewType("CallId", str)
DeliveryId = NewType("DeliveryId", str)

Clock = Callable[[], int]
"""Returns Unix time in milliseconds."""

SHORT = 8
"""Last characters of a conversation's id that people are shown; `Transcript.find` takes them."""

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def wall_clock() -> int:
    """Unix time in milliseconds, by this machine's clock."""
    return time.time_ns() // 1_000_000


def steady_clock() -> int:
    """Milliseconds since some instant, by a clock that nobody sets: for pauses and spans. On Linux it goes on while the
    machine sleeps (clock_gettime(2), CLOCK_BOOTTIME).
    """
    return time.clock_gettime_ns(_STEADY) // 1_000_000


def sortable_id(clock: Clock = wall_clock, entropy: Callable[[int], bytes] = os.urandom) -> str:
    """26 characters that sort by creation time: 48 bits of milliseconds, 80 bits of randomness.

    The shape is the ULID's (https://github.com/ulid/spec), in lower case.

    >>> sortable_id(lambda: 0, lambda n: bytes(n))
    '00000000000000000000000000'
    """
    number = (clock() << 80) | int.from_bytes(entropy(10), "big")
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


class CommandKey(NamedTuple):
    """What names a command at a door, for ever; empty where each is given but once."""

    door: str = ""
    key: str = ""


NO_KEY = CommandKey()


def new_conversation(clock: Clock = wall_clock) -> ConversationId:
    """A fresh conversation's id."""
    return ConversationId(sortable_id(clock))


def short(conversation: str) -> str:
    """A conversation's id as people are shown it.

    >>> short("01jd4v0wkq9m7zx3t5c8r2n6hb")
    'c8r2n6hb'
    """
    return conversation[-SHORT:]


def call_id(asked: int, index: int) -> CallId:
    """The id of a reply's `index`-th call; `asked` is the sequence number of the `ModelAsked` it answers.

    Providers repeat their ids from reply to reply, so the log has its own; it is legal on every wire.

    >>> call_id(12, 0)
    'c12_0'
    """
    return CallId(f"c{asked}_{index}")


def named_call_id(asked: int, place: int) -> CallId:
    """The id of the call that sends the file number `place` of those that a reply names; `asked` as in `call_id`.

    >>> named_call_id(12, 0)
    'm12_0'
    """
    return CallId(f"m{asked}_{place}")


def is_named(call: CallId) -> bool:
    """Whether a call sends a file that a reply names, so that the model did not make it itself."""
    return call.startswith("m")


def place_named(call: CallId) -> tuple[int, int]:
    """Where a file stands among those that replies name: the request, and its place in the reply; (0, 0) for none.

    >>> place_named(CallId("m12_3")), place_named(CallId("c12_3"))
    ((12, 3), (0, 0))
    """
    asked, _, place = call.removeprefix("m").partition("_")
    return (int(asked), int(place)) if is_named(call) else (0, 0)


def question_id_in(call: CallId, number: int) -> CallId:
    """Under which id a call asks its `number`-th question while it runs; it is legal wherever a call's is.

    >>> question_id_in(CallId("c12_0"), 1)
    'c12_0~1'
    """
    return CallId(f"{call}~{number}")


def call_that_asks(question: CallId) -> CallId:
    """The call that a question is about, or that asks it while it runs.

    >>> call_that_asks(CallId("c12_0~1")), call_that_asks(CallId("h1.c2_0~2")), call_that_asks(CallId("c12_0"))
    ('c12_0', 'h1.c2_0', 'c12_0')
    """
    return CallId(question.partition("~")[0])


def delivery_id(conversation: ConversationId, origin: str) -> DeliveryId:
    """The id of what `origin` (a call id, or `t` and the closing number of a turn) sends out.

    Derived, not drawn, so that saying the same thing twice names the same delivery.
    """
    return DeliveryId(f"{conversation}.{origin}")
