"""What a person sees in fourteen states, at three widths, as text: `tests/faces/screens/STATE-COLUMNS.txt`.

A screen that was changed on purpose is written anew by `ANGELIA_SCREENS=write pytest tests/faces/test_screens.py`, and
looked at before it is committed. What differs from run to run (seconds, folders, times, the version) is a sign of its
own there.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from angelia import __version__
from angelia.core.failure import FailureKind
from angelia.testing.model.steps import Fail, How, Step, call, cut_after, say
from tests.faces.angelia import Place, Terminal, serving

SCREENS = Path(__file__).parent / "screens"
WIDTHS = (50, 110, 160)

REPLY = """\
# What the garden log says

The log holds three beds and seven crops, and `harvest.csv` shows **two things** without any doubt:

1. The south bed brought 33 kg.
2. The east bed was never sown.

| Bed | Crop | Sown | Harvest (kg) | Remark |
|---|---|---|---:|---|
| north | carrot | 2026-03-28 | 14.5 | good, but late because of the frost |
| south | tomato | 2026-05-11 | 31.2 | 日本語の品種 |

> A quotation that is long enough to be wrapped at fifty columns.

```python
def total(rows: list[dict[str, str]], bed: str = "south", *, unit: str = "kg") -> float:
    # of one bed only
    return sum(float(row["kg"]) for row in rows)
```

The last word: **sow the east bed** in April.
"""

FAILS = "sleep 0.2; for n in $(seq 1 30); do echo test_$n ... ok; done; echo '    raise KeyError(\"south\")'; exit 1"
DANGEROUS = "rm -rf build && git push --force origin main"


def plan(*statuses: str) -> dict[str, object]:
    """Four steps."""
    texts = ("Read the garden log", "Mend the total in total.py", "Run the tests", "Write the report")
    return {"items": [{"text": text, "status": status} for text, status in zip(texts, statuses, strict=True)]}


PLAN = call("todo", plan("done", "active", "pending", "pending"))
WAITS = call("shell", {"command": "echo test_31 ... ok; cat gate"})


class State(Struct, frozen=True):
    """How one comes to a screen: what the model does, and what the person does and sees, in turns."""

    steps: tuple[Step, ...]
    act: Callable[[Terminal], None]
    options: tuple[str, ...] = ()


def said(*expected: str, text: str = "Go on") -> Callable[[Terminal], None]:
    """A message, and what is seen after it."""

    def act(terminal: Terminal) -> None:
        terminal.types(text)
        for one in expected:
            terminal.sees(one)

    return act


def then(first: Callable[[Terminal], None], keys: str, *expected: str) -> Callable[[Terminal], None]:
    """Keys that are pressed after something else, and what is seen then."""

    def act(terminal: Terminal) -> None:
        first(terminal)
        terminal.press(keys)
        for one in expected:
            terminal.sees(one)

    return act


STATES = {
    "start": State((say("Hello."),), lambda terminal: None),
    "answered": State((say(REPLY),), said("sow the east bed in April", "ready")),
    "writing": State((cut_after(say(REPLY), 120, how=How.SILENCE),), said("tomato")),
    "working": State((PLAN, WAITS), said("test_31 ... ok")),
    "mistyped": State((say("Hello."),), said("There is no command", text="/sesions")),
    "plan folded": State((PLAN, WAITS), then(said("test_31 ... ok"), "\x14", "plan 1/4")),
    "failed": State((call("shell", {"command": FAILS}), say("It fails.")), said("It fails.", "ready")),
    "whole output": State(
        (call("shell", {"command": FAILS}), say("It fails.")),
        then(said("It fails."), "\x0f", "31 lines of", "KeyError"),
    ),
    "view": State(
        (call("shell", {"command": FAILS}), say("It fails.")),
        then(said("It fails.", "ready"), "\x0f\x0f", "31 lines of", "31 lines of", "q back"),
    ),
    "question": State((call("shell", {"command": DANGEROUS}), say("Done.")), said("or write what to do"), ("ask",)),
    "waiting messages": State(
        (PLAN, WAITS),
        then(said("test_31 ... ok"), "look at the east bed\rthen commit it\x1bq", "then commit it"),
    ),
    "waiting for the provider": State(
        (Fail(FailureKind.BUSY, retry_after=600),), said("waiting until", "Esc stops", text="Hello")
    ),
    "changed": State(
        (
            call("write", {"path": "total.py", "content": "\n".join(f"line {n}" for n in range(30))}),
            say("Written."),
        ),
        said("Written.", "ready"),
    ),
    "help": State((say("Hello."),), said("dropping a file", text="/help")),
}

CHANGES = (
    (re.compile(rf"Angelia {re.escape(__version__)}"), "Angelia VERSION"),
    (re.compile(r"\d+(\.\d)? s\b"), "N s"),
    (re.compile(r" · N s(?= · )"), ""),
    (re.compile(r"\d\d:\d\d:\d\d \(\d+ (s|min)\)"), "HH:MM:SS (N min)"),
    (re.compile(r"since \d\d:\d\d:\d\d"), "since HH:MM:SS"),
    (re.compile(r"\d+(\.\d)?k? tokens( · context [\d.k]+)?"), "N tokens"),
)


def drawn(place: Place, state: State, columns: int) -> list[str]:
    """The rows of the screen and of what was scrolled out above it, without what differs from run to run."""
    mode = state.options[0] if state.options else "edit"
    rows = 24 if columns == WIDTHS[0] else 36
    with place.chat(
        "--set", "sandbox.confine=off", LINES=str(rows), COLUMNS=str(columns), NO_COLOR="", ANGELIA_MODE=mode
    ) as terminal:
        terminal.sees("ready")
        state.act(terminal)
        terminal.comes_to_rest()
        return terminal.screen.split("\n")


def stable(rows: list[str]) -> str:
    """The rows, with signs for what differs from run to run."""
    text = "\n".join(rows)
    for found, sign in CHANGES:
        text = found.sub(sign, text)
    text = re.sub(r" {3,}N s(?: {3,})?", "   N s   ", text)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(row.rstrip() for row in text.split("\n"))).rstrip() + "\n"


@pytest.mark.soak(every=8)
@pytest.mark.parametrize(("name", "columns"), [(name, columns) for name in STATES for columns in WIDTHS])
def test_a_screen_is_the_one_that_was_looked_at(name: str, columns: int, tmp_path: Path) -> None:
    state = STATES[name]
    with serving(tmp_path, list(state.steps)) as place:
        os.mkfifo(place.work / "gate")
        rows = drawn(place, state, columns)
    if name != "view":
        holds(rows, columns)
    file = SCREENS / f"{name.replace(' ', '-')}-{columns}.txt"
    text = stable(rows)
    if os.environ.get("ANGELIA_SCREENS") == "write":
        file.write_text(text)
    assert text == file.read_text()


STATES_IN_WORDS = ("ready", "writing", "working", "waiting")


def holds(rows: list[str], columns: int) -> None:
    """What is true of every screen."""
    status = [row for row in rows if row.strip().startswith(STATES_IN_WORDS) and "·" in row]
    assert len(status) == 1, "one status line"
    assert status[0] in rows[-36:], "it stands in the window"
    assert all(len(row) <= columns for row in rows)
