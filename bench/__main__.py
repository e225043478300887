"""`python -m bench`: measures, and prints one table of figures beside their yardsticks and targets."""

import argparse
import compileall
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from angelia.testing.model.server_process import model_server_process
from bench import (
    api,
    batches,
    browser,
    chats,
    clock,
    cluster,
    delegation,
    editors,
    idle,
    local,
    long_logs,
    mind,
    outputs,
    page,
    past,
    peers,
    picture_history,
    pictures,
    rounds,
    sandboxes,
    soak,
    speech,
    startup,
    store,
    streams,
    terminal,
    tokens,
    views,
    yardsticks,
)
from bench.rows import Row, cells
from bench.runs import ROOT, Benchmark


class _Given(NamedTuple):
    """What the parts are measured with; `url` is the scripted model server's."""

    bench: Benchmark
    bare: yardsticks.Yardsticks
    url: str
    others: dict[str, str]


PARTS: dict[str, Callable[[_Given], Iterator[Row]]] = {
    "yardsticks": lambda given: yardsticks.rows(given.bench, given.url),
    "startup": lambda given: startup.rows(given.bench, given.bare, given.url, given.others),
    "rounds": lambda given: rounds.rows(given.bench, given.bare),
    "outputs": lambda given: outputs.rows(given.bench),
    "picture history": lambda given: picture_history.rows(given.bench, given.url),
    "editors": lambda given: editors.rows(given.bench, given.bare, given.url),
    "chats": lambda given: chats.rows(given.bench, given.url),
    "streams": lambda given: streams.rows(given.bench),
    "terminal": lambda given: terminal.rows(given.bench),
    "soak": lambda given: soak.rows(given.bench, given.url),
    "idle": lambda given: idle.rows(given.bench, given.url),
    "clock": lambda given: clock.rows(given.bench, given.url),
    "delegation": lambda given: delegation.rows(given.bench, given.url),
    "batches": lambda given: batches.rows(given.bench, given.url),
    "views": lambda given: views.rows(given.bench),
    "long logs": lambda given: long_logs.rows(given.bench, given.url),
    "tokens": lambda given: tokens.rows(),
    "store": lambda given: store.rows(given.bench),
    "cluster": lambda given: cluster.rows(given.bench, given.url),
    "pictures": lambda given: pictures.rows(given.bench),
    "browser": lambda given: browser.rows(given.bench),
    "past": lambda given: past.rows(given.bench),
    "mind": lambda given: mind.rows(given.bench),
    "page": lambda given: page.rows(given.bench),
    "api": lambda given: api.rows(given.bench, given.url),
    "local": lambda given: local.rows(given.bench),
    "sandboxes": lambda given: sandboxes.rows(given.bench),
    "speech": lambda given: speech.rows(given.bench),
}
"""In the order in which they are measured; `--only` names one."""


def main() -> None:
    """Measure what was asked for and print the table."""
    given = _parser().parse_args()
    others = dict(peer.split("=", 1) for peer in given.peer) | (peers.installed() if given.peers else {})
    compileall.compile_dir(ROOT / "src", quiet=1)  # as an installed program is
    console = Console(width=None if sys.stdout.isatty() else 160)
    with tempfile.TemporaryDirectory(dir=given.at, prefix="angelia-bench-") as folder:
        size = (3, 30, 20) if given.quick else (9, 200, 200)
        bench = Benchmark(Path(folder), *size, full=given.full)
        measured = []
        for part, found in measure(bench, others, given.only):
            sys.stderr.write(f"{part}: {'  '.join(cells(found)[:2])}\n")
            measured.append(found)
    console.print(_table(measured))
    missed = [found.name.strip() for found in measured if found.met is False]
    console.print(f"{len(missed)} of {sum(found.met is not None for found in measured)} targets not reached.")


def measure(bench: Benchmark, others: dict[str, str], only: str) -> Iterator[tuple[str, Row]]:
    """Every row with the part it belongs to, as soon as it is measured; `only` names one part."""
    with model_server_process("--instant") as url:
        given = _Given(bench, yardsticks.Yardsticks(bench, url), url, others)
        for part in [only] if only else PARTS:
            yield from ((part, one) for one in PARTS[part](given))


def _table(measured: list[Row]) -> Table:
    load = os.getloadavg()[0]
    table = Table(
        title=f"Angelia beside bare things · load {load:.1f} on {os.cpu_count()} processors",
        caption="Medians (least to most). Absolute targets hold on a calm 2-core machine; ratios hold anywhere.",
    )
    for name in ("row", "measured", "yardstick", "ratio", "target", ""):
        table.add_column(name, justify="right" if name in ("ratio", "target") else "left")
    for one in measured:
        table.add_row(*cells(one), style="red" if one.met is False else "")
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--full", action="store_true", help="also what takes minutes: search over a million messages")
    parser.add_argument("--only", default="", choices=PARTS, metavar="PART", help=f"one part: {', '.join(PARTS)}")
    parser.add_argument("--at", type=Path, help="a folder on the disk that is to be measured")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another agent's one-shot command, run beside ours with OPENAI_BASE_URL and ANTHROPIC_BASE_URL set",
    )
    parser.add_argument(
        "--peers", action="store_true", help=f"the same for those that are here: {', '.join(peers.KNOWN)}"
    )
    return parser


if __name__ == "__main__":
    main()
