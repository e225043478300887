"""Takes out one rule after the other in a copy of the tree; its test must see it: `python -m tests.mutants --help`.

A row of `mutants.toml` says what is taken out: `old` stands exactly once in `file`, `new` is put in its place, and
`test` must pass before and fail after. A row that does not apply any more is a failure too.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, convert

TREE = Path(__file__).parents[2]
RED = 1
"""How pytest ends when tests failed; other numbers mean that they could not be run."""


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """One rule taken out: `says` is what holds no longer."""

    says: str
    file: str
    old: str
    new: str
    test: str

    @property
    def words(self) -> str:
        """By what it is chosen."""
        return f"{self.says} {self.test} {self.file}"


def main(words: Sequence[str]) -> int:
    """Try the rows that the command line chooses; 1 if one of them lives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Take rules out; a test must see it.")
    parser.add_argument("text", nargs="*", help="only rows that say one of these, or have it in their test or file")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    given = parser.parse_args(words)
    rows = convert(tomllib.loads((Path(__file__).parent / "mutants.toml").read_text())["mutant"], list[Mutant])
    chosen = [row for row in rows if not given.text or any(text in row.words for text in given.text)]
    if given.list or not chosen:
        print("\n".join(f"{row.test}  {row.says}" for row in chosen) or "No row says that.")
        return 0 if chosen else 2
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        if ended := pytest_ends(copy, sorted({row.test for row in chosen}), as_it_is=True):
            print(f"The tests do not pass as it is (pytest ended with {ended}).")
            return 1
        alive = [said for row in chosen if (said := survives(copy, row))]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} mutants are seen.")
    return 1 if alive else 0


def copied(folder: Path) -> Path:
    """What Git knows of the tree, as it stands on the disk."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TREE, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (TREE / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TREE / name, folder / name)
    return folder


def survives(copy: Path, row: Mutant) -> str:
    """Why a mutant is not seen; empty if it is."""
    path = copy / row.file
    before = path.read_text() if path.is_file() else ""
    count = before.count(row.old)
    if count != 1:
        why = f"its text stands {count} times in {row.file}"
    else:
        path.write_text(before.replace(row.old, row.new))
        ended = pytest_ends(copy, [row.test])
        path.write_text(before)
        why = "" if ended == RED else f"{row.test} passes" if not ended else f"pytest ended with {ended}"
    print(f"{'alive' if why else 'seen '}  {row.says}{f': {why}' if why else ''}", flush=True)
    return why


def pytest_ends(copy: Path, tests: Sequence[str], *, as_it_is: bool = False) -> int:
    """The status of a run in the copy, whose package comes before the installed one; prints what it said, where odd."""
    argv = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    env = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(argv, cwd=copy, env=env, capture_output=True, text=True, check=False)
    if ended.returncode not in ((0,) if as_it_is else (0, RED)):
        print(ended.stdout[-2000:], ended.stderr[-2000:])
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
