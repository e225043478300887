"""Writes what a release has beside its packages: the note out of the changelog, and the checksums of all files."""

import hashlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEXT = "next"
"""What is not released yet."""
_HEAD = re.compile(r"^## \[([^\]]+)\].*$", re.MULTILINE)


def version() -> str:
    """The version that `pyproject.toml` names."""
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return found


def note(changelog: str, wanted: str) -> str:
    """What changed in a version, as Markdown.

    Raises:
        ValueError: the changelog does not know the version, or has changes that belong to none.
    """
    sections = _sections(changelog)
    if sections.get("Unreleased"):
        raise ValueError(
            f"CHANGELOG.md has changes under [Unreleased]; {wanted} would go out without a word of them. "
            "Name the version above them, set it in pyproject.toml and src/angelia/core/version.py, "
            "run .tools/bin/uv lock, and commit."
        )
    if not sections.get(wanted):
        raise ValueError(f"CHANGELOG.md has no section [{wanted}]; write one, then try again.")
    return f"# Angelia {wanted}\n\n{sections[wanted]}\n"


def documented(changelog: str, named: str) -> str:
    """The version that the documents beside a changelog tell of: `NEXT` while it has changes that belong to none."""
    return NEXT if _sections(changelog).get("Unreleased") else named


def _sections(changelog: str) -> dict[str, str]:
    heads = list(_HEAD.finditer(changelog))
    ends = [*(head.start() for head in heads[1:]), len(changelog)]
    return {head[1]: changelog[head.end() : end].strip() for head, end in zip(heads, ends, strict=True)}


def sums(folder: Path) -> str:
    """A line for each file, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS" and path.name[0] != ".")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main() -> int:
    """Write one of both into a folder: `python -m docs.release note|sums FOLDER`."""
    what, folder = sys.argv[1], Path(sys.argv[2])
    try:
        if what == "note":
            said = note((ROOT / "CHANGELOG.md").read_text("utf-8"), version())
            (folder / f"angelia-{version()}.md").write_text(said, "utf-8")
        else:
            (folder / "SHA256SUMS").write_text(sums(folder), "utf-8")
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
