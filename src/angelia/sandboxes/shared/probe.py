"""What there is at a place that can only be asked by a command: its system and the programs worth a word."""

from msgspec import Struct

from angelia.core.text import clean, one_line
from angelia.sandboxes.local.description import WORTH_A_WORD
from angelia.sandboxes.port import Running

LOOK_AROUND = (
    "uname -srm; sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null | tr -d '\"'; echo; "
    f"for p in {' '.join(WORTH_A_WORD)}; do command -v $p >/dev/null 2>&1 && echo $p; done; :"
)
"""A line for the shell."""


class ProbedPlace(Struct, frozen=True):
    """The system's name, and the programs, both as a sentence may hold them."""

    system: str
    programs: str


async def look_around(running: Running) -> ProbedPlace:
    """What the line said.

    Raises:
        SandboxGone, Unreachable: it could not be run to its end.
    """
    said = b"".join([chunk async for chunk in running.output()]).decode(errors="replace")
    await running.wait()
    named, _, found = said.partition("\n\n")
    kernel, _, name = named.partition("\n")
    system = ", ".join(part for part in (one_line(clean(name), 80), one_line(clean(kernel), 80)) if part)
    return ProbedPlace(system or "unknown", ", ".join(found.split()) or "nothing beyond the basics")
