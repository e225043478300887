"""What a command that cannot be watched is taken to change, as far as its words tell: it is copied before."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from angelia.sandboxes.port import Command

_GLOBS = frozenset("*?[")
_MOST = 200
_PASSED_ON = frozenset({"cat", "tee", "base64"})
"""Programs to which a here-document is content. To others (`xargs rm`, `ed`) it may be names."""
_DOCUMENT = r"(?sm)<<-?[ \t]*(['\"]?)(\w+)\1((?:\\\n|[^\n])*)\n(?:.*?\n)??\t*\2$"


def candidates(command: Command, workspace: Path, home: Path, *, here: bool) -> tuple[str, ...]:
    """Paths that the risky pieces of a command name, absolute; the workspace itself where it throws away changes.

    What stands for several names is theirs if the workspace is `here`, else it stays as it is.
    """
    from angelia.policy.shell.classifier import classify
    from angelia.policy.shell.risk import CommandContext, Risk

    line = command.shell or shlex.join(command.argv)
    cwd = workspace / command.cwd
    found = classify(line, CommandContext(str(workspace), str(home), cwd=str(cwd)))
    if any(finding.risk is Risk.DISCARDS for finding in found):
        return (str(workspace),)
    changing = (Risk.CHANGES, Risk.DESTROYS, Risk.TRUNCATES)
    pieces = [finding.piece for finding in found if finding.risk in changing]
    paths = dict.fromkeys(path for piece in pieces for path in _paths(piece, cwd, here=here))
    return tuple(list(paths)[:_MOST])


def _paths(piece: str, cwd: Path, *, here: bool) -> Iterator[str]:
    """Files are written by here-documents: were their words looked at, each would be a question elsewhere."""
    if piece.partition(" ")[0] in _PASSED_ON:
        piece = re.sub(_DOCUMENT, r"\3", piece)
    try:
        words = shlex.split(piece.replace("\\\n", " ").replace(">", " ").replace("|", " "))
    except ValueError:
        return
    for word in words[1:] or words:
        text = word.partition("=")[2] or word
        if here and not _GLOBS.isdisjoint(text) and not text.startswith("/"):
            yield from (str(path) for _, path in zip(range(_MOST), cwd.glob(text), strict=False))
        elif text and not text.startswith("-") and "\0" not in text:
            yield str(cwd / text)
