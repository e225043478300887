"""Makes a certificate: `python -P -m angelia.testing.certificates crash-test|walls|door|KIT [NAME] -o FOLDER …`."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from angelia.core.errors import AngeliaError
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.testing.certificates.certificate import TriedClaim, certificate, write
from angelia.testing.certificates.crash_test import crash_test
from angelia.testing.certificates.walls import walls

KITS = ("sandbox", "store", "channel", "model")


def main() -> int:
    """Try it, write the certificate, and say whether it held: exit code 0 or 1, 2 where there was nothing to try."""
    parser = argparse.ArgumentParser(prog="angelia doctor", description=__doc__)
    parser.add_argument("what", choices=["crash-test", "walls", "door", *KITS])
    parser.add_argument("name", nargs="?", default="", help="what a kit is held to, or the channel")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--near", type=Path, required=True, help="what is tried lies beside it, on its file system")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--to", default="", help="the chat in which a channel is tried")
    parser.add_argument("--yes", action="store_true", help="send there without asking")
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    options.near.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="angelia-trial-", dir=options.near.parent))
    try:
        claims = asyncio.run(_tried(options, folder))
        at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        made = certificate(f"Angelia, {options.what} {options.name}".strip(), at, claims, folder)
    except AngeliaError as error:
        _say(f"angelia: {error}")
        return 2
    finally:
        remove_tree(folder)
    write(made, options.output)
    for claim in made.claims:
        if not claim.held and options.what != "door":  # of those each was told
            _say(f"NOT HELD: {claim.claim}: {claim.broken[0] if claim.broken else 'it was not tried'}")
    verdict = "held" if made.held else "did not hold"
    print(f"{made.what}: {verdict}. {options.output}/certificate.html and certificate.json", flush=True)
    return 0 if made.held else 1


async def _tried(options: argparse.Namespace, folder: Path) -> list[TriedClaim]:
    match options.what:
        case "crash-test":
            return await crash_test(folder, options.minutes * 60, _say)
        case "walls":
            return await walls(folder, _say)
        case "door":
            from angelia.testing.certificates.door import door

            return await door(options.name, options.to, tuple(options.sets), folder, _say, _agreed(yes=options.yes))
        case _:
            from angelia.testing.certificates.watched_kit import watched_kit

            return await watched_kit((options.what, options.name), folder, _say)


def _agreed(*, yes: bool) -> Callable[[str], bool]:
    """Asks whoever sits there; nobody who is not there has said yes."""

    def agreed(what: str) -> bool:
        _say(what)
        return yes or (sys.stdin.isatty() and input("Send them? [y/N] ").strip().lower() in ("y", "yes"))

    return agreed


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
