"""The exceptions that cross layers.

AngeliaError                 what happened, why, what next
├─ BadInput                 what a person gave cannot be used as it is
├─ ConfigError              a setting is wrong; names file, line and key
│   └─ KeyMissing           there is no key for a model
├─ MissingPart              an optional part is not installed; names the command
│   └─ MissingLibrary       a library of the system, which an installed part needs, is not there
├─ NotFound                 no conversation, blob or setting of that name
├─ CodecError               a stored entry that this version cannot read
├─ OutputLost               standard output takes nothing: the disk is full, or it is closed
├─ StoreError               the home cannot be read or written
│   ├─ StoreFull            the disk is full; nothing was acknowledged
│   ├─ StoreReadOnly        the home may not be written
│   ├─ StoreBusy            another process holds the database
│   ├─ StoreUnreachable     where files lie does not answer, or refuses us; nothing was acknowledged
│   └─ StoreDamaged         a check failed
├─ Fenced                   another process drives this conversation now
├─ ModelFailed              a request to a model failed; carries the `Failure`
├─ PolicyDenied             the policy says no, with its reason
└─ SandboxError             see `angelia.sandboxes.port`
"""

import errno

import msgspec

from angelia.core.content import ReplyPart
from angelia.core.failure import Failure

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding somebody's JSON can raise: not JSON, not UTF-8, or nested beyond reason."""


def no_file_left(error: BaseException | None) -> bool:
    """Whether it came of too many open files, however it is called now."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        error = error.__cause__
    return False


def fault_words(error: Exception) -> str:
    """What a sentence says of a fault: of the system's its words alone, without the number, and the path that the
    sentence has.

    >>> fault_words(FileNotFoundError(2, "No such file or directory", "a.toml"))
    'No such file or directory'
    """
    return (isinstance(error, OSError) and error.strerror) or str(error)


class AngeliaError(Exception):
    """What happened, with the numbers; why; what to do next. Each part is a sentence or empty."""

    def __init__(self, what: str, why: str = "", then: str = "") -> None:
        self.what = what
        self.why = why
        self.then = then
        super().__init__(" ".join(part for part in (what, why, then) if part))


class BadInput(AngeliaError):
    """What a person gave (a file, an argument, a text) cannot be used as it is."""


class ConfigError(AngeliaError):
    """A setting is wrong."""


class KeyMissing(ConfigError):
    """There is no key for a model; `then` says where to put one."""


class MissingPart(AngeliaError):
    """An optional part is not installed."""

    def __init__(self, need: str, extra: str) -> None:
        from angelia.installation import installing  # reads how we were installed: only where it is asked for

        super().__init__(f"{need} needs a part that is not installed.", then=f"Install it: {installing(extra)}")


class MissingLibrary(MissingPart):
    """A library of the system is missing, without which an installed part cannot be loaded; `said` names the file."""

    def __init__(self, need: str, said: str, then: str) -> None:
        AngeliaError.__init__(self, f"{need} cannot be loaded on this machine.", said, then)


class OutputLost(AngeliaError):
    """Standard output takes nothing. A reader that has gone is a `BrokenPipeError`, as everywhere."""

    def __init__(self, error: OSError) -> None:
        super().__init__(
            f"What was to be shown could not be written to standard output: {error.strerror or error}.",
            then="Have it go elsewhere; what is stored is as it was.",
        )


class NotFound(AngeliaError):
    """There is nothing of that name."""


class CodecError(AngeliaError):
    """A stored entry cannot be read by this version; it is refused by name, never skipped."""


class StoreError(AngeliaError):
    """The home cannot be read or written."""


class StoreClosed(StoreError):
    """The home was closed here; nothing was read or written."""


class StoreFull(StoreError):
    """The disk is full; what was being written is not acknowledged."""


class StoreReadOnly(StoreError):
    """The home may not be written."""


class StoreBusy(StoreError):
    """Another process kept the database locked for too long."""


class StoreUnreachable(StoreError):
    """Where files lie beyond this machine does not answer or refuses us; what was being put is not acknowledged."""


class StoreDamaged(StoreError):
    """An integrity check failed."""


def passes(error: AngeliaError) -> bool:
    """Whether it may be over by itself in a while: a full disk, a database that is away. What is done then is done."""
    return isinstance(error, StoreError) and not isinstance(error, StoreClosed | StoreDamaged)


class Fenced(AngeliaError):
    """The lease on this conversation was taken over; nothing was appended."""


class ModelError(AngeliaError):
    """A request to a model failed. `partial` is what had arrived; it is shown as cut, never as an answer."""

    def __init__(self, failure: Failure, partial: tuple[ReplyPart, ...] = ()) -> None:
        self.failure, self.partial = failure, partial
        super().__init__(f"{failure.kind}: {failure.said}" if failure.said else str(failure.kind))


class PerhapsPaid(ModelError):
    """It was asked for, and nobody knows what came of it: it may have to be paid, so it is not asked for again."""


class PolicyDenied(AngeliaError):
    """The policy says no."""
