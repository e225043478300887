"""What a tool wants to do, and what the policy says to it."""

from enum import StrEnum

from msgspec import Struct

from angelia.core.content import Media
from angelia.core.entry import Address
from angelia.core.principal import Principal


class RunCommand(Struct, frozen=True, tag=True):
    """Run a command line. `reach` is a `sandboxes.port.Reach` value.

    `hosts` are the only ones that it may reach by the network, as `hosts.named_hosts` gives them; empty for all.
    """

    command: str
    cwd: str
    reach: str
    hosts: tuple[str, ...] = ()


class ReadPath(Struct, frozen=True, tag=True):
    """Read a file or folder; `path` as given, `resolved` with every link followed."""

    path: str
    resolved: str


class WritePath(Struct, frozen=True, tag=True):
    """Create or change a file; `path` as given, `resolved` with every link followed."""

    path: str
    resolved: str


class FetchUrl(Struct, frozen=True, tag=True):
    """Fetch a URL. Addresses are checked again at connection time."""

    url: str


class OpenOrigin(Struct, frozen=True, tag=True):
    """Open a URL in a browser behind no wall of ours; from then on its tabs may go to that origin by themselves.

    It runs elsewhere (`browser`, as it is shown), or on this machine, where `no_wall` says why there is none, and how
    to mend that.
    """

    url: str
    browser: str
    no_wall: str = ""


class SearchWeb(Struct, frozen=True, tag=True):
    """Ask search services of the person's for `words`; whoever is in `services` may learn them."""

    words: str
    services: tuple[str, ...]


class UsePainter(Struct, frozen=True, tag=True):
    """Have pictures made from `words`; `leaves` says whether these, and the pictures given, go to a vendor.

    `may_cost` is millionths of a US dollar for all of them, -1 if nobody knows before they are there.
    """

    painter: str
    words: str
    leaves: bool
    may_cost: int = -1


class UseSpeaker(Struct, frozen=True, tag=True):
    """Have words of the model's spoken, by what the owner has set. `leaves` and `may_cost` as in `UsePainter`."""

    speaker: str
    leaves: bool
    may_cost: int = -1


class UseRanker(Struct, frozen=True, tag=True):
    """Have what was found in the past ordered by the model that the owner has set for it.

    Where the network is off it is not asked; the search goes on without. `may_cost` is as in `UsePainter`.
    """

    ranker: str
    may_cost: int = -1


class ShowUrl(Struct, frozen=True, tag=True):
    """Fetch a picture to show it in place of its link. Not worth a question: without a yes it stays the link."""

    url: str


class SendTo(Struct, frozen=True, tag=True):
    """Act on a page in the browser: whoever runs `origin` (scheme, host, port) learns what is typed and pressed there.

    `what` names the acts, such as `fill, click`; `files` are those that are uploaded.
    """

    origin: str
    what: str
    files: tuple[str, ...] = ()


class RunScript(Struct, frozen=True, tag=True):
    """Run `code` in a page of `origin` in the browser, where it can do whatever that page can."""

    origin: str
    code: str


class UseSecret(Struct, frozen=True, tag=True):
    """Type kept secrets into a page, or send them in headers: whoever runs `origin`, for which each of these `handles`
    is kept, gets them.
    """

    handles: tuple[str, ...]
    origin: str


class GiveSecret(Struct, frozen=True, tag=True):
    """Have a command find kept secrets in its environment; `secrets` are pairs of a handle and its variable."""

    secrets: tuple[tuple[str, str], ...]
    command: RunCommand


class UseProfile(Struct, frozen=True, tag=True):
    """Have pages of `origin` see the person's kept logins of this name; `lent`: the conversation has them already."""

    profile: str
    origin: str
    lent: bool = False


class SeePage(Struct, frozen=True, tag=True):
    """Show what the conversation's browser has of `origin`, as whoever is logged in there sees it."""

    origin: str


class SendOut(Struct, frozen=True, tag=True):
    """Send a file to a person."""

    path: str
    resolved: str
    address: Address


class AskPerson(Struct, frozen=True, tag=True):
    """Put the model's own question to the person."""

    question: str
    choices: tuple[str, ...] = ()


class AnswerServer(Struct, frozen=True, tag=True):
    """Put a question of a server to the person, in the middle of a call of its; their answer goes to it."""

    server: str
    question: str
    choices: tuple[str, ...] = ()


class VisitForServer(Struct, frozen=True, tag=True):
    """Have the person go to an address that a server names in the middle of a call, and say so; `message` is why."""

    server: str
    url: str
    message: str


class LogInForServer(Struct, frozen=True, tag=True):
    """Have the person log in where a server sends them in the middle of a call; what they answer is the address at
    which that ended, unless it is one of `choices`. `fault` is what was wrong with the answer before.
    """

    server: str
    url: str
    scope: str
    redirect: str
    fault: str = ""
    choices: tuple[str, ...] = ()


OfServer = AnswerServer | VisitForServer | LogInForServer
"""What a server wants of the person in the middle of a call."""


class HandOverPage(Struct, frozen=True, tag=True):
    """Show the person a page of this origin, and wait until they have done what the question says."""

    origin: str
    question: str
    choices: tuple[str, ...]
    picture: Media


class Trust(StrEnum):
    """Whose word there is for a server that brings tools of its own."""

    PASSED = "passed"
    """Somebody's program named it (an editor, for one session): nobody has said yes to it yet."""
    CONFIGURED = "configured"
    """It stands in the person's own settings: it may be started and reached, and its tools are asked about once."""
    ALLOWED = "allowed"
    """The person's own settings say that its tools are used unasked."""


class UseServer(Struct, frozen=True, tag=True):
    """Use a server that brings tools of its own; an empty `tool` means to start or to reach it.

    `url` is empty for one that is a program; `reach`, a `sandboxes.port.Reach` value, is how far that may go: outside
    of every confinement as a program of this machine, less in the conversation's sandbox. `shown` is its command line
    or address as a person may read it, without secrets; `pattern` is what a yes to it is remembered as. `looks` is
    the server's own word that the tool changes nothing.
    """

    server: str
    tool: str
    shown: str
    pattern: str
    trust: Trust
    url: str = ""
    looks: bool = False
    reach: str = "outside"


class UseEditor(Struct, frozen=True, tag=True):
    """Let an editor run commands or write files in place of the sandbox; `what` is `its terminal` or `its files`."""

    what: str


class Act(Struct, frozen=True, tag=True):
    """What a third-party tool does to the world, in words that a person can say yes to.

    `what` completes "Let TOOL …?", such as `book a table`; `target` is whom or what it is done to, such as
    `bistro.example`. `pattern` is what a yes may be remembered as (`book at bistro.example`); empty: asked every time.
    `changes` is false for what only looks: that asks in plan mode too, but is not refused there.
    """

    tool: str
    what: str
    target: str
    pattern: str
    changes: bool


class ChangeSchedule(Struct, frozen=True, tag=True):
    """Have turns begin when nobody looks, or no more; `question` says all of it, as a person is asked."""

    question: str


class NoEffect(Struct, frozen=True, tag=True):
    """Nothing outside of the conversation. It is said, never meant by silence: a call without any effect is denied."""


Effect = (
    NoEffect
    | Act
    | ChangeSchedule
    | RunCommand
    | ReadPath
    | WritePath
    | FetchUrl
    | OpenOrigin
    | SearchWeb
    | UsePainter
    | UseSpeaker
    | UseRanker
    | ShowUrl
    | SendTo
    | RunScript
    | UseSecret
    | GiveSecret
    | UseProfile
    | SeePage
    | SendOut
    | AskPerson
    | AnswerServer
    | VisitForServer
    | LogInForServer
    | HandOverPage
    | UseServer
    | UseEditor
)


class Allow(Struct, frozen=True, tag=True):
    """Go on."""

    reason: str


class Ask(Struct, frozen=True, tag=True):
    """A person decides. `pattern` is what a remembered yes would cover, empty when it cannot be remembered.

    `approvers` are those whose answer counts; `judge.settle` names them.
    """

    question: str
    reason: str
    pattern: str = ""
    approvers: tuple[Principal, ...] = ()


class Deny(Struct, frozen=True, tag=True):
    """No. The reason is told to the model and the person."""

    reason: str


Verdict = Allow | Ask | Deny


def strictest(verdicts: list[Verdict]) -> Verdict:
    """The verdict on several effects of one call: one Deny denies, one Ask asks; no effect at all is denied.

    Where several ask, all their questions are put, with all their reasons. A pattern is of one of them, the last that
    has one; the others are asked about again.
    """
    for verdict in verdicts:
        if isinstance(verdict, Deny):
            return verdict
    asks = [verdict for verdict in verdicts if isinstance(verdict, Ask)]
    if asks:
        questions, reasons = (dict.fromkeys(said) for said in zip(*((a.question, a.reason) for a in asks), strict=True))
        return Ask(" ".join(questions), " ".join(reasons), next((a.pattern for a in reversed(asks) if a.pattern), ""))
    if verdicts:
        return verdicts[0]
    return Deny("The tool does not say what this call would do to the world (`effects` named nothing, not `NoEffect`).")
