"""Records a conversation in the terminal as an animated picture: `python -m docs.record` writes `terminal.svg`.

The program is the real one, in a terminal of 104 × 27; what the model says is scripted, and the temporary folder that
it works in is shown as `/home/ann`. It is typed as slowly as people type, and waiting is as long as it was, at most
`LONGEST`.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

import pexpect
import pyte
from msgspec import Struct

from angelia.testing.model.server_process import model_server_process
from angelia.testing.model.steps import Step, call, dump_steps, say, slowly

PICTURE = Path(__file__).parent / "pictures/terminal.svg"
ABOUT = (
    "A conversation: a question about a file named by @, a command of one's own by !, a table that is written, a push "
    "that is asked for and refused, and the list of other conversations"
)
COLUMNS, ROWS = 104, 27
_TEMPORARY = re.compile(r"/\S*/angelia-record-\w+")
KEY_S, LONGEST, LOOK_S, END_S = 0.045, 1.2, 0.05, 5.0
"""Seconds: between keys; the longest that nothing happens; between looks; how long the last picture stands."""
WIDTH, HEIGHT, SIZE, MARGIN = 8.43, 19, 14, 18
"""Pixels of a character, a line, the font, the frame."""

CSV = "bed,crop,week,kg\nsouth,tomatoes,30,18.5\nsouth,beans,31,14.5\nnorth,potatoes,33,16\nnorth,kale,35,7.5\n"
TABLE = "| bed | kg |\n|---|---|\n| south | 33.0 |\n| north | 23.5 |\n"
AWK = "awk -F, 'NR>1 {kg[$1]+=$4} END {for (bed in kg) print bed, kg[bed]}' harvest.csv"


MODEL = "openai-chat:scripted"
EARLIER = ("When do I sow beans?", "Draw a plan of the beds")
"""What was talked of before; the answers are not shown."""

STEPS: list[Step] = [
    slowly(call("shell", {"command": AWK}), first=0.4, between=0.01),
    slowly(say("The **south bed**: 33 kg, against 23.5 kg in the north."), first=0.4, between=0.05),
    slowly(call("write", {"path": "harvest.md", "content": TABLE}), first=0.5, between=0.01),
    slowly(call("shell", {"command": "git push origin main", "reach": "network"}), first=0.4, between=0.01),
    slowly(say("The table is in harvest.md. I have not pushed it, as you said."), first=0.4, between=0.05),
]
"""What the model says, one for each reply."""

COLOURS = {
    "default": ("#1f2530", "#dfe4ec"),
    "black": ("#1f2530", "#8b95a5"),
    "red": ("#b3261e", "#ff8a80"),
    "green": ("#1e6b45", "#7fd1a3"),
    "brown": ("#7a5600", "#e6c06b"),
    "blue": ("#1f5fa8", "#82b4ff"),
    "magenta": ("#8a3a8f", "#e0a3e6"),
    "cyan": ("#0f6a73", "#78d0da"),
    "white": ("#4a5361", "#f2f5f9"),
}
"""The colours of a terminal on light and on dark."""


Runs = tuple[tuple[str, str, bool], ...]
"""A row as runs of one look: text, colour, bold."""
Rows = list[Runs]


class Line(Struct):
    """What stood in one row from one moment to another, in seconds."""

    row: int
    runs: Runs
    since: float
    until: float = 0.0


def record() -> list[tuple[float, Rows]]:
    """The pictures of a whole conversation, each with the second at which it appeared."""
    with tempfile.TemporaryDirectory(prefix="angelia-record-") as temporary:
        place = Path(temporary)
        work = place / "garden"
        work.mkdir()
        (work / "harvest.csv").write_text(CSV)
        (place / "steps.json").write_bytes(dump_steps(STEPS))
        with model_server_process("--by-replies", str(place / "steps.json")) as url:
            given = environment(place, url)
            for asked in EARLIER:
                _spawned(work, given, "ask", asked).read()
            return list(_pictures(_spawned(work, given, "chat")))


def environment(place: Path, url: str) -> dict[str, str]:
    """What the program is given, with a home of its own there and the model at `url`."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "ANGELIA_HOME": str(place / "home"),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{url}/v1",
        "TERM": "xterm-256color",
        "PYTHONUTF8": "1",
    }


def _spawned(work: Path, environment: dict[str, str], verb: str, *more: str) -> "pexpect.spawn[bytes]":
    words = ["-m", "angelia", verb, "--model", MODEL, *more]
    return pexpect.spawn(sys.executable, words, cwd=str(work), env=environment, dimensions=(ROWS, COLUMNS), timeout=60)


def _pictures(child: "pexpect.spawn[bytes]") -> Iterator[tuple[float, Rows]]:
    """Play the person, and look at the screen."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    shown = began = time.monotonic()
    last: Rows = []
    played = 0.0
    acting = _person(child, screen)
    due = began
    while True:
        try:
            stream.feed(child.read_nonblocking(65536, timeout=LOOK_S))
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            break
        now = time.monotonic()
        rows = [_runs(screen, row) for row in range(ROWS)]
        if rows != last:
            played += min(now - shown, LONGEST)
            shown, last = now, rows
            yield played, rows
        if now >= due:
            pause = next(acting, None)
            if pause is None:
                break
            due = now + pause
    child.close(force=True)


def _person(child: "pexpect.spawn[bytes]", screen: pyte.Screen) -> Iterator[float]:
    """What somebody does at the keyboard; gives the seconds until their next act."""
    yield from _until(screen, "›")
    yield 0.8
    yield from _pressed(child, "Which bed brought more? @har")
    yield from _until(screen, "harvest.csv")
    yield 0.9
    yield from _typed(child, "\t")
    yield from _until(screen, "in the north")
    yield 1.2
    yield from _typed(child, "!head -3 harvest.csv")
    yield from _until(screen, "with your next message")
    yield 1.2
    yield from _typed(child, "Put that into a table, and push it.")
    yield from _until(screen, "or write what to do instead")
    yield 1.6
    yield from _typed(child, "no")
    yield from _until(screen, "as you said.")
    yield 1.0
    yield from _typed(child, "/resume")
    yield from _until(screen, "letters search")
    yield 1.2
    yield from _pressed(child, "bea")
    while any("Draw a plan" in line for line in screen.display):
        yield LOOK_S
    yield from _until(screen, "When do I sow")
    yield 1.4
    child.send("\x1b")
    yield 1.0


def _pressed(child: "pexpect.spawn[bytes]", keys: str) -> Iterator[float]:
    for key in keys:
        child.send(key)
        yield KEY_S
    yield 0.4


def _typed(child: "pexpect.spawn[bytes]", text: str) -> Iterator[float]:
    yield from _pressed(child, text)
    child.send("\r")


def _until(screen: pyte.Screen, text: str) -> Iterator[float]:
    """Wait until a text is on the screen."""
    while not any(text in line for line in screen.display):
        yield LOOK_S


def _runs(screen: pyte.Screen, row: int) -> Runs:
    """A row as runs of one look, without the blanks at its end."""
    cells = [screen.buffer[row][column] for column in range(COLUMNS)]
    looks = [(cell.data or " ", cell.fg if cell.fg in COLOURS else "default", cell.bold) for cell in cells]
    while looks and looks[-1][0] == " ":
        looks.pop()
    grouped = groupby(looks, key=lambda look: look[1:])
    return tuple((_TEMPORARY.sub("/home/ann", "".join(text for text, *_ in run)), *look) for look, run in grouped)


def lines(pictures: Sequence[tuple[float, Rows]]) -> list[Line]:
    """Each row's text with the time in which it stood there; what never changes is there once."""
    found: list[Line] = []
    open_: dict[int, Line] = {}
    for at, rows in pictures:
        for row, runs in enumerate(rows):
            if row in open_ and open_[row].runs == runs:
                continue
            if row in open_:
                open_.pop(row).until = at
            if runs:
                open_[row] = Line(row, runs, at)
                found.append(open_[row])
    return found


def drawn(found: Sequence[Line], seconds: float) -> str:
    """The picture; where motion is unwanted it shows how it ends."""
    style = [f".{name} {{ fill: {light} }}" for name, (light, _) in COLOURS.items()] + [
        "@media (prefers-color-scheme: dark) { .card { fill: #171c24; stroke: #2c3542 } .bar { fill: #4a5361 }"
    ]
    style += [f".{name} {{ fill: {dark} }}" for name, (_, dark) in COLOURS.items()] + ["}"]
    texts = []
    for number, line in enumerate(found):
        begin, end = (100 * moment / seconds for moment in (line.since, line.until or seconds))
        hidden = "" if begin < 0.01 else "0% { visibility: hidden } "
        gone = f" {end:.2f}% {{ visibility: hidden }}" if line.until else ""
        style.append(f"@keyframes k{number} {{ {hidden}{begin:.2f}% {{ visibility: visible }}{gone} }}")
        column, spans = 0, []
        for text, colour, bold in line.runs:
            if text.strip():
                x = MARGIN + (column + len(text) - len(text.lstrip())) * WIDTH
                weight = ' font-weight="700"' if bold else ""
                spans.append(f'<tspan class="{colour}" x="{x:.1f}"{weight}>{escape(text.strip())}</tspan>')
            column += len(text)
        last = "" if line.until else " last"
        y = MARGIN + 24 + (line.row + 1) * HEIGHT
        texts.append(f'<text class="l{last}" y="{y}" style="animation-name:k{number}">{"".join(spans)}</text>')
    width, height = round(COLUMNS * WIDTH + 2 * MARGIN), ROWS * HEIGHT + 2 * MARGIN + 28
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t">
<title id="t">{ABOUT}</title>
<style>
.card {{ fill: #fbfaf7; stroke: #d8d5cc }} .bar {{ fill: #c9c5ba }}
text {{ font: {SIZE}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre }}
.l {{ visibility: hidden; animation: {seconds:.2f}s step-end infinite }}
@media (prefers-reduced-motion: reduce) {{ .l {{ animation: none }} .last {{ visibility: visible }} }}
{chr(10).join(style)}
</style>
<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="12"/>
{"".join(f'<circle class="bar" cx="{x}" cy="20" r="5"/>' for x in (22, 40, 58))}
{chr(10).join(texts)}
</svg>
"""


def main() -> None:
    """Record, and write the picture."""
    pictures = record()
    PICTURE.write_text(drawn(lines(pictures), pictures[-1][0] + END_S), "utf-8")
    sys.stdout.write(f"{PICTURE}: {len(pictures)} pictures, {PICTURE.stat().st_size / 1e3:.0f} kB\n")


if __name__ == "__main__":
    main()
