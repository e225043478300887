"""Other processes that work on a home; see `tests.store.child`."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

Child = subprocess.Popen[str]


def command(what: str, home: Path, conversation: str, *rest: str) -> list[str]:
    return [sys.executable, "-m", "tests.store.child", what, str(home), conversation, *rest]


def start(what: str, home: Path, conversation: str, *rest: str) -> Child:
    return subprocess.Popen(
        command(what, home, conversation, *rest), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def line(child: Child) -> str:
    assert child.stdout
    return child.stdout.readline().strip()


def rest_of(child: Child) -> list[str]:
    """The whole lines that are still to be read; one that was cut off says nothing."""
    assert child.stdout
    with child:  # `communicate` would pass over what was read ahead with an earlier line
        return [text.strip() for text in child.stdout.read().splitlines(keepends=True) if text.endswith("\n")]


def output(words: Sequence[str]) -> list[str]:
    """What a command says until it ends."""
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False).stdout.splitlines()
