"""A kit whose part may hang or end the process that tries it: that claim is broken, and another tries the others.

The process that tries is `kit_process`; what it ended in is read here, and said in words.
"""

import asyncio
import re
import selectors
import sys
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import msgspec

import angelia
import angelia.testing
from angelia.core.errors import AngeliaError
from angelia.testing.certificates.certificate import TriedClaim
from angelia.testing.certificates.kit_process import (
    Begun,
    Bounds,
    Came,
    NotTried,
    Overlong,
    ReportLine,
    Through,
    stood_file,
)

USUAL = Bounds()

OPENED = "it can be opened"
"""The claim that is broken where the process ends before any other is tried."""

_KIT = f"{Path(angelia.testing.__file__).parent}/"
_OURS = f"{Path(angelia.__file__).parent}/"
_LOOP = f"{Path(asyncio.__file__).parent}/"
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


async def watched_kit(
    part: tuple[str, str], folder: Path, told: Callable[[str], None], bounds: Bounds = USUAL
) -> list[TriedClaim]:
    """Hold a part, of a kind and with a name as for `kits.kit`, to its kit, in processes of their own. They say on
    their standard error what came of each claim; `told` hears of those that they did not live to say.

    Raises:
        AngeliaError: there was nothing to try; says why.
    """
    found: list[TriedClaim] = []
    while True:
        life = await _life(part, folder, len(found), bounds)
        found += life.tried
        if not life.end:
            return found
        found.append(TriedClaim(life.begun or OPENED, 1, (life.end,)))
        told(f"{found[-1].claim}: {life.end}")
        if not life.begun:  # another process would come no further
            return found


class _Life(NamedTuple):
    """What came of one process: claims that were tried, the one that was begun, and how it ended in that; "" if all
    claims were tried.
    """

    tried: list[TriedClaim]
    begun: str
    end: str


async def _life(part: tuple[str, str], folder: Path, after: int, bounds: Bounds) -> _Life:
    report = folder / f"report-{after}"
    report.touch()
    arguments = [*part, str(folder), str(report), str(after), *map(str, bounds)]
    words = [sys.executable, "-P", "-m", "angelia.testing.certificates.kit_process", *arguments]
    process = await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.DEVNULL)
    try:
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    stood = stood_file(report).read_text(errors="replace") if stood_file(report).exists() else ""
    tried: list[TriedClaim] = []
    begun, end = "", f"the event loop was blocked for {bounds.blocked_s:g} s" if stood else ""
    for line in report.read_bytes().splitlines():
        said: ReportLine = msgspec.json.decode(line, type=ReportLine)
        match said:
            case Begun(claim):
                begun = claim
            case Came(claim):
                tried.append(claim)
                begun = ""
            case NotTried(what, why, then):
                raise AngeliaError(what, why, then)
            case Overlong():
                end = f"it did not come to an end within {bounds.claim_s:g} s"
            case Through():
                return _Life(tried, "", "")
    return _Life(tried, begun, f"{end}{where(stood)}" if end else _ended(status))


def _ended(status: int) -> str:
    how = f"signal {-status}" if status < 0 else f"exit code {status}"
    return f"it ended the process in which it was tried ({how})"


def where(stood: str) -> str:
    """Where the claim stood, by a traceback of faulthandler's of all threads, the newest first: the innermost call, and
    what called it of the part that was tried. Empty where its thread only waits for the event loop.
    """
    for thread in stood.split("(most recent call first):"):
        calls = _FRAME.findall(thread)
        if any(file.startswith(_KIT) for file, _, _ in calls):
            of_the_claim = takewhile(lambda call: not call[0].startswith((_KIT, _LOOP)), calls)
            inner = [call for call in of_the_claim if call[0] != selectors.__file__]
            theirs = [call for call in inner if not call[0].startswith(_OURS)]
            return f", in {', called by '.join(map(_words, dict.fromkeys((inner[0], *theirs[-1:]))))}" if inner else ""
    return ""


def _words(call: tuple[str, str, str]) -> str:
    file, line, name = call
    return f"{name} ({'/'.join(Path(file).parts[-2:])}, line {line})"
