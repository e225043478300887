"""Faults for so many minutes: `python -m tests.soak --minutes 60`; it ends with 1 if the books do not balance."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.soak.run import Soak


async def main() -> int:
    """Run it, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where home and logs stay to be looked at")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="angelia-soak-") as place:
        folder = options.folder or Path(place)
        told = await Soak(folder, options.seed, sys.stdout.write).run(options.minutes * 60)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
