"""What a tool wants to do, and what the policy says to it."""

from msgspec import Struct

from angelia.core.entry import Address


class RunCommand(Struct, frozen=True, tag=True):
    """Run a command line. `reach` is a `sandboxes.port.Reach` value."""

    command: str
    cwd: str
    reach: str


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


class SendOut(Struct, frozen=True, tag=True):
    """Send a file to a person."""

    path: str
    resolved: str
    address: Address


class AskPerson(Struct, frozen=True, tag=True):
    """Put the model's own question to the person."""

    question: str
    choices: tuple[str, ...] = ()


Effect = RunCommand | ReadPath | WritePath | FetchUrl | SendOut | AskPerson


class Allow(Struct, frozen=True, tag=True):
    """Go on."""

    reason: str


class Ask(Struct, frozen=True, tag=True):
    """A person decides. `pattern` is what a remembered yes would cover, empty when it cannot be remembered."""

    question: str
    reason: str
    pattern: str = ""


class Deny(Struct, frozen=True, tag=True):
    """No. The reason is told to the model and the person."""

    reason: str


Verdict = Allow | Ask | Deny


def strictest(verdicts: list[Verdict]) -> Verdict:
    """The verdict on several effects of one call: one Deny denies, one Ask asks; no effect at all is allowed."""
    for kind in (Deny, Ask):
        for verdict in verdicts:
            if isinstance(verdict, kind):
                return verdict
    return verdicts[0] if verdicts else Allow("no effect outside the conversation")
