"""The bench runs and prints its table; what it measures is nobody's claim here, since machines differ."""

import subprocess
import sys
from pathlib import Path

import pytest
from bench.rows import Row, Target, Yardstick, cells, row

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_a_quick_run_prints_a_table_of_figures_beside_yardsticks() -> None:
    argv = [sys.executable, "-m", "bench", "--quick", "--only", "startup"]
    ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    for wanted in ("angelia --version, CPU", "first request on the wire", "smallest request", "python -c pass"):
        assert wanted in ended.stdout
    assert "targets not reached" in ended.stdout


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (row("r", "ms", [0.010, 0.012, 0.030], 0.020), ("r", "12 ms (10–30)", "", "", "≤ 20 ms", "ok")),
        (row("r", "kB", 12_345, 10_000), ("r", "12.3 kB", "", "", "≤ 10 kB", "NOT YET")),
        (row("r", "s", 0.2, yardstick=Yardstick("bare", 0.1)), ("r", "0.200 s", "bare 0.100 s", "2.00", "", "")),
        (Row("r", "/s", (25_000.0,), target=Target(least=20_000)), ("r", "25,000 /s", "", "", "≥ 20,000 /s", "ok")),
        (Row("r", "x", target=Target(0.95, 1.1), note="no part"), None),
    ],
)
def test_a_row_says_what_was_measured_and_whether_that_is_good(one: Row, shown: tuple[str, ...] | None) -> None:
    if shown is None:
        assert cells(one)[1] == "not measured"
        assert cells(one)[5] == "no part"
        assert one.met is None
    else:
        assert cells(one) == shown
