"""Which paths a command that cannot be watched is taken to change."""

from pathlib import Path

import pytest

from angelia.sandboxes.port import Command
from angelia.service.conversation.undo_candidates import candidates

FOLDER = Path("/w")
LINES = {
    "cat >a.py <<'END'\nopen('b/c')\nd/e\nEND": ["a.py"],
    "cat <<END >a.py\nb/c $HOME\nEND\nrm d": ["a.py", "d"],
    "base64 -d >'a b' <<-\tEND\nJVB/ERi\n\tEND": ["a b"],
    "cat <<END \\\n >a\nb/c\nEND": ["a"],
    "cat >a <<END\nEND": ["a"],
    "tee a <<END\nEND of b\nEND": ["a"],
    "sh <<END\nrm a\nEND": ["a"],
    "cat >a <<END\n$(rm b)\nEND": ["b", "a"],
}


@pytest.mark.parametrize("line", LINES)
def test_what_a_here_document_holds_is_content_and_no_path(line: str) -> None:
    found = candidates(Command(shell=line), FOLDER, Path("/home/ann"), here=False)
    assert list(found) == [str(FOLDER / name) for name in LINES[line]]


@pytest.mark.parametrize("line", ["xargs rm <<END\na\nEND", "ed b <<END\nw a\nEND"])
def test_names_in_a_here_document_are_paths_to_what_reads_names(line: str) -> None:
    assert str(FOLDER / "a") in candidates(Command(shell=line), FOLDER, Path("/home/ann"), here=False)
