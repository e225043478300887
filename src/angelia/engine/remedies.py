"""What is done about each failure, in which order, how often, and how a turn ends when all of it is spent.

A use of a remedy is an entry of the log, so no remedy can reset another's count and no restart forgets one.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from angelia.core import ending as end
from angelia.core.failure import Failure, FailureKind


class Remedy(StrEnum):
    """Something that can be done about a failure."""

    WAIT = "wait"
    NEXT_CREDENTIAL = "next_credential"
    REFRESH_CREDENTIAL = "refresh_credential"
    NEXT_MODEL = "next_model"
    ASK_AGAIN = "ask_again"
    NUDGE = "nudge"
    CONTINUE = "continue"
    EXPLAIN = "explain"
    MEND = "mend"
    SAY_SO = "say_so"
    AGE_MEDIA = "age_media"
    SHORTEN_RESULTS = "shorten_results"
    COMPACT = "compact"
    COMPACT_HARDER = "compact_harder"
    SMALLER_RENDITION = "smaller_rendition"
    DESCRIBE = "describe"
    DROP_NATIVE = "drop_native"
    FLATTEN_CALLS = "flatten_calls"
    LEAVE_OUT = "leave_out"


class Row(Struct, frozen=True):
    """One failure's remedies. `otherwise` continues with another failure's row, under that one's counts.

    `per_reply` counts since the last usable reply (a long turn may be busy many times); the rest count per turn.
    """

    remedies: tuple[tuple[Remedy, int], ...] = ()
    otherwise: FailureKind | None = None
    per_reply: bool = False


Table = Mapping[FailureKind, Row]

_SMALLER_REQUEST = (
    (Remedy.AGE_MEDIA, 1),
    (Remedy.SHORTEN_RESULTS, 1),
    (Remedy.COMPACT, 1),
    (Remedy.COMPACT_HARDER, 1),
)

DEFAULT: Table = {
    FailureKind.BUSY: Row(
        ((Remedy.WAIT, 3), (Remedy.NEXT_CREDENTIAL, 9), (Remedy.NEXT_MODEL, 1)),
        per_reply=True,
    ),
    FailureKind.UNREACHABLE: Row(((Remedy.WAIT, 3), (Remedy.NEXT_MODEL, 1)), per_reply=True),
    FailureKind.STREAM_CUT: Row(((Remedy.ASK_AGAIN, 2),), otherwise=FailureKind.UNREACHABLE, per_reply=True),
    FailureKind.CONTEXT_TOO_LONG: Row(_SMALLER_REQUEST, per_reply=True),
    FailureKind.BODY_TOO_LARGE: Row(_SMALLER_REQUEST, per_reply=True),
    FailureKind.MEDIA_REFUSED: Row(((Remedy.SMALLER_RENDITION, 1), (Remedy.DESCRIBE, 1))),
    FailureKind.LOGIN_REJECTED: Row(((Remedy.REFRESH_CREDENTIAL, 1), (Remedy.NEXT_CREDENTIAL, 9))),
    FailureKind.OUT_OF_CREDIT: Row(((Remedy.NEXT_MODEL, 1),)),
    FailureKind.EMPTY_REPLY: Row(((Remedy.ASK_AGAIN, 3), (Remedy.NUDGE, 1), (Remedy.NEXT_MODEL, 1))),
    FailureKind.THINKING_ONLY: Row(((Remedy.CONTINUE, 2),), otherwise=FailureKind.EMPTY_REPLY),
    FailureKind.CUT_OFF: Row(((Remedy.CONTINUE, 3),)),
    FailureKind.BAD_CALL: Row(((Remedy.EXPLAIN, 3),)),
    FailureKind.FILE_REFUSED: Row(((Remedy.MEND, 1),)),
    FailureKind.REFUSAL: Row(),
    FailureKind.HISTORY_REFUSED: Row(((Remedy.DROP_NATIVE, 1), (Remedy.FLATTEN_CALLS, 1), (Remedy.COMPACT, 1))),
    FailureKind.UNKNOWN_MODEL: Row(((Remedy.NEXT_MODEL, 1),)),
    FailureKind.PARAMETER_REFUSED: Row(((Remedy.LEAVE_OUT, 6),), otherwise=FailureKind.HISTORY_REFUSED),
    FailureKind.TOOL_REFUSED: Row(((Remedy.LEAVE_OUT, 12),), otherwise=FailureKind.HISTORY_REFUSED),
    FailureKind.WRONG_ADDRESS: Row(((Remedy.NEXT_MODEL, 1),)),
    FailureKind.CIRCLES: Row(((Remedy.SAY_SO, 1),)),
    FailureKind.WORKER: Row(),
}

Uses = Mapping[tuple[FailureKind, Remedy], int]

CHANGES_REQUEST = frozenset(
    {
        Remedy.AGE_MEDIA,
        Remedy.SHORTEN_RESULTS,
        Remedy.COMPACT,
        Remedy.COMPACT_HARDER,
        Remedy.SMALLER_RENDITION,
        Remedy.DROP_NATIVE,
        Remedy.FLATTEN_CALLS,
    }
)
"""Remedies for a request that was refused as it stands. One that would leave it as it is does not help: the same bytes
would be refused again.
"""

ANYTHING_HELPS = CHANGES_REQUEST


class Reserves(Struct, frozen=True):
    """What is left to turn to: models, credentials, a way to refresh a key or describe a picture; and which of the
    remedies that change a request would change this one.
    """

    models: int = 0
    credentials: int = 0
    can_refresh: bool = False
    can_describe: bool = False
    helps: frozenset[Remedy] = ANYTHING_HELPS


class RemedyChoice(Struct, frozen=True):
    """A remedy, and the failure under whose budget it counts."""

    failure: FailureKind
    remedy: Remedy
    use: int
    """1 for the first use."""


def next_remedy(kind: FailureKind, uses: Uses, reserves: Reserves, table: Table = DEFAULT) -> RemedyChoice | None:
    """The first remedy for `kind` that has uses left and something to turn to; None when all are spent."""
    row = table[kind]
    for remedy, most in row.remedies:
        used = uses.get((kind, remedy), 0)
        if used < most and _possible(remedy, reserves):
            return RemedyChoice(kind, remedy, used + 1)
    return next_remedy(row.otherwise, uses, reserves, table) if row.otherwise else None


def _possible(remedy: Remedy, reserves: Reserves) -> bool:
    match remedy:
        case Remedy.NEXT_MODEL:
            return reserves.models > 0
        case Remedy.NEXT_CREDENTIAL:
            return reserves.credentials > 0
        case Remedy.REFRESH_CREDENTIAL:
            return reserves.can_refresh
        case Remedy.DESCRIBE:
            return reserves.can_describe
        case _ if remedy in CHANGES_REQUEST:
            return remedy in reserves.helps
        case _:
            return True


def ending_for(  # noqa: C901 - one closed table
    failure: Failure, model: str, tries: int, progress: str, uses: Uses
) -> end.Ending:
    """How the turn ends when every remedy for `failure` is spent. `tries` counts requests since the last reply, `uses`
    what was done about failures.
    """
    said = failure.said
    match failure.kind:
        case FailureKind.BUSY | FailureKind.UNREACHABLE | FailureKind.STREAM_CUT:
            return end.ModelUnavailable(model=model, tries=tries, said=said)
        case FailureKind.CONTEXT_TOO_LONG | FailureKind.BODY_TOO_LARGE:
            return end.ContextFull(model=model, said=said)
        case FailureKind.MEDIA_REFUSED:
            return end.ModelRefusedMedia(model=model, said=said)
        case FailureKind.LOGIN_REJECTED:
            return end.LoginNeeded(model=model, said=said)
        case FailureKind.OUT_OF_CREDIT:
            return end.OutOfCredit(model=model, said=said)
        case FailureKind.EMPTY_REPLY | FailureKind.THINKING_ONLY:
            return end.NothingToSay(model=model, tries=tries, progress=progress)
        case FailureKind.CUT_OFF:
            return end.ReplyCutOff(model=model, tries=tries)
        case FailureKind.BAD_CALL:
            explained = uses.get((FailureKind.BAD_CALL, Remedy.EXPLAIN), 0)
            return end.ToolConfusion(model=model, tries=explained + 1, said=said)
        case FailureKind.FILE_REFUSED:
            return end.Answered(note=said or "A file that the answer names was not sent.")
        case FailureKind.REFUSAL:
            return end.Refused(model=model, said=said)
        case FailureKind.HISTORY_REFUSED | FailureKind.PARAMETER_REFUSED | FailureKind.TOOL_REFUSED:
            repaired = any(uses.get((FailureKind.HISTORY_REFUSED, remedy), 0) for remedy in CHANGES_REQUEST)
            return end.HistoryRefused(model=model, said=said, repaired=repaired)
        case FailureKind.WRONG_ADDRESS:
            return end.WrongAddress(model=model, said=said)
        case FailureKind.UNKNOWN_MODEL:
            return end.ModelUnknown(model=model, said=said)
        case FailureKind.CIRCLES:
            return end.GoingInCircles(tool=said, times=tries)
        case FailureKind.WORKER:
            fate = end.WorkerFate(failure.names or end.WorkerFate.FAILED)
            return end.WorkerFailed(worker=model, fate=fate, said=said)
        case _:
            assert_never(failure.kind)
