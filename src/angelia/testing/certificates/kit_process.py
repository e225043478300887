"""A kit, tried in a process that ends itself once nothing goes on in it.

    python -P -m angelia.testing.certificates.kit_process KIT NAME FOLDER REPORT AFTER BLOCKED_S CLAIM_S

What is tried may be anybody's, and where it blocks the event loop, nothing within the loop can say so. faulthandler
waits beside it, in a thread that needs no interpreter: it is told again and again that the loop still turns, and what
does not tell it for `BLOCKED_S` seconds is written down, with where it stands, and ended. So is, from within the loop,
a claim that does not come to an end in `CLAIM_S`. `REPORT` is a file that gets a line for each claim that is begun and
each that came to an end; `REPORT.stood` says where the process stood.
"""

import asyncio
import faulthandler
import math
import os
import sys
import time
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
from msgspec import Struct

from angelia.core.errors import AngeliaError
from angelia.testing.certificates.certificate import TriedClaim
from angelia.testing.certificates.kits import kit


class Bounds(NamedTuple):
    """Seconds for which the event loop may be blocked, though no port allows it; and in which each claim comes to an
    end, twice what a kit gives the longest: some are given no time by theirs.
    """

    blocked_s: float = 60.0
    claim_s: float = 600.0


class Begun(Struct, frozen=True, tag=True):
    """A claim is tried from now on."""

    claim: str


class Came(Struct, frozen=True, tag=True):
    """What came of the one that was begun."""

    claim: TriedClaim


class Overlong(Struct, frozen=True, tag=True):
    """The loop turned for all of a claim's time, and the claim did not come to an end."""


class NotTried(Struct, frozen=True, tag=True):
    """There was nothing to try; why."""

    what: str
    why: str
    then: str


class Through(Struct, frozen=True, tag=True):
    """All claims were tried."""


ReportLine = Begun | Came | Overlong | NotTried | Through


def stood_file(report: Path) -> Path:
    """Where the process says where it stood when it ended itself."""
    return report.with_name(f"{report.name}.stood")


class _Report:
    """Writes the lines, each whole before the next thing happens; tells whoever looks what came."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self.since = math.inf
        """When the last claim was begun or came to an end."""

    def write(self, line: ReportLine) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self.since = time.monotonic()

    def begun(self, claim: str) -> None:
        self.write(Begun(claim))

    def came(self, claim: TriedClaim) -> None:
        self.write(Came(claim))
        print(f"{claim.claim}: {'; '.join(claim.broken) or 'held'}", file=sys.stderr, flush=True)


async def _tell_that_it_turns(report: _Report, stood: IO[str], bounds: Bounds) -> None:
    while time.monotonic() - report.since < bounds.claim_s:
        faulthandler.dump_traceback_later(bounds.blocked_s, exit=True, file=stood)
        await asyncio.sleep(min(bounds) / 4)
    report.write(Overlong())
    faulthandler.dump_traceback(stood)
    os._exit(1)


async def _tried(part: tuple[str, str, Path, int], report: _Report, stood: IO[str], bounds: Bounds) -> None:
    kind, name, folder, after = part
    turning = asyncio.create_task(_tell_that_it_turns(report, stood, bounds))
    await asyncio.sleep(0)  # it has begun to
    try:
        await kit(kind, name, folder, report, after)
    except AngeliaError as error:
        report.write(NotTried(error.what, error.why, error.then))
        return
    finally:
        turning.cancel()
    report.write(Through())


def main() -> None:
    """Try it; what came stands in the report. Whatever is left running at the end is given its seconds, too."""
    kind, name, folder, path, after, *bounds = sys.argv[1:]
    report = _Report(Path(path))
    stood = stood_file(Path(path)).open("w")  # for as long as there is a process: threads of theirs may keep it
    asyncio.run(_tried((kind, name, Path(folder), int(after)), report, stood, Bounds(*map(float, bounds))))


if __name__ == "__main__":
    main()
