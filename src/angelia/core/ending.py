"""Every way a turn can end."""

from enum import StrEnum

from msgspec import Struct

from angelia.core.principal import Principal


class Outcome(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag=True):
    """How a turn ended. `said` quotes the provider where it spoke, redacted."""


class Answered(Outcome, frozen=True):
    """The model answered. `note` is shown under the answer when it needs a word of explanation."""

    note: str = ""


class StayedSilent(Outcome, frozen=True):
    """A scheduled run found nothing to tell, and said `why`: nobody is written to, and the history shows it."""

    why: str


class Cancelled(Outcome, frozen=True):
    """A person stopped the turn."""

    by: Principal


class Stalled(Outcome, frozen=True):
    """Nothing was heard of a child conversation for `seconds`, so that its turn was ended."""

    seconds: int


class StepLimit(Outcome, frozen=True):
    """The turn used all its model calls."""

    steps: int


class BudgetSpent(Outcome, frozen=True):
    """A cap was reached: `what` names it (`tokens this turn`, `money today`, …), `spent` and `cap` are readable."""

    what: str
    spent: str
    cap: str


class ModelUnavailable(Outcome, frozen=True):
    """The provider could not be reached or stayed busy through every retry; or `died` tries ended with our process, so
    that nobody knows what it would have said.
    """

    model: str
    tries: int
    said: str = ""
    died: int = 0


class ModelUnknown(Outcome, frozen=True):
    """The provider does not have this model."""

    model: str
    said: str = ""


class LoginNeeded(Outcome, frozen=True):
    """Every credential was rejected."""

    model: str
    said: str = ""


class OutOfCredit(Outcome, frozen=True):
    """The account has no credit left."""

    model: str
    said: str = ""


class ContextFull(Outcome, frozen=True):
    """The conversation cannot be made small enough for the model."""

    model: str
    said: str = ""


class ModelRefusedMedia(Outcome, frozen=True):
    """The model would not take a picture or document in any form we could give it."""

    model: str
    said: str = ""


class HistoryRefused(Outcome, frozen=True):
    """The provider rejects the request's shape. `repaired` says that it was sent in another one, too."""

    model: str
    said: str = ""
    repaired: bool = False


class WrongAddress(Outcome, frozen=True):
    """What answers at the vendor's address is no model server; `said` says what it is, and what to set."""

    model: str
    said: str = ""


class Refused(Outcome, frozen=True):
    """The model, or the provider's filter, declined."""

    model: str
    said: str = ""


class NothingToSay(Outcome, frozen=True):
    """The model fell silent. `progress` is the last thing it said on the way, never an answer."""

    model: str
    tries: int
    progress: str = ""


class ReplyCutOff(Outcome, frozen=True):
    """The reply kept running into the length limit."""

    model: str
    tries: int


class ToolConfusion(Outcome, frozen=True):
    """The model kept calling tools wrongly."""

    model: str
    tries: int
    said: str = ""


class GoingInCircles(Outcome, frozen=True):
    """The model repeated one call with one result, and went on after being told."""

    tool: str
    times: int


class WorkerFate(StrEnum):
    """Why the work of another agent came to no answer."""

    NOT_STARTED = "not started"
    NOT_SPOKEN = "not spoken"
    """It speaks another protocol, or a version of it that we do not know."""
    LOGIN = "login"
    REFUSED = "refused"
    CUT_OFF = "cut off"
    """Its model ran into the length limit."""
    OUT_OF_STEPS = "out of steps"
    CANCELLED = "cancelled"
    """It says that it was stopped, but nobody stopped it."""
    EMPTY = "empty"
    """It says that it is done, but has given no answer."""
    UNFINISHED = "unfinished"
    """It says that it is done while it waits for an answer of ours."""
    FAILED = "failed"
    """It answered the task with an error."""
    SILENT = "silent"
    """It was started, and never answered the first words."""
    DIED = "died"
    FLOODED = "flooded"
    NONSENSE = "nonsense"
    """What it sent is not the protocol."""
    LOST = "lost"
    """Our own process ended while it worked, and ended it, too."""


class WorkerFailed(Outcome, frozen=True):
    """Another agent that worked for a conversation gave no answer; `said` quotes it, or says what was seen of it."""

    worker: str
    fate: WorkerFate
    said: str = ""


class Faulted(Outcome, frozen=True):
    """A fault of ours ended the turn; `code` finds it in the log file. `no_files` says that it had no open file left,
    which is no fault of the code but of the limit.
    """

    code: str
    no_files: bool = False


Ending = (
    Answered
    | StayedSilent
    | Cancelled
    | Stalled
    | StepLimit
    | BudgetSpent
    | ModelUnavailable
    | ModelUnknown
    | LoginNeeded
    | OutOfCredit
    | ContextFull
    | ModelRefusedMedia
    | HistoryRefused
    | WrongAddress
    | Refused
    | NothingToSay
    | ReplyCutOff
    | ToolConfusion
    | GoingInCircles
    | WorkerFailed
    | Faulted
)
