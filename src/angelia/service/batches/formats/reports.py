"""Which tests passed, by what a test program wrote; pure.

Each reads the words of one program, and tells only of tests that it names: what is not told did not pass.
"""

import re
from collections.abc import Callable, Mapping

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SUMMARY = re.compile(r"(PASSED|FAILED|ERROR|XPASS|XFAIL) (\S.*?)(?: - .*)?")
_LABELLED = re.compile(r"(.+?) \.\.\. +(ok|OK|FAIL|ERROR|expected failure|unexpected success)")
_SYMPY = re.compile(r"(test_\S+) (ok|F|E|f|X)(?:\s.*)?")


def pytest_report(output: str) -> Mapping[str, bool]:
    r"""What `pytest -rA` summed up: each test, and whether it passed.

    >>> pytest_report("PASSED a.py::one\nFAILED a.py::two[x - y] - assert 1 == 2\n")
    {'a.py::one': True, 'a.py::two[x': False}
    """
    return {name: word in ("PASSED", "XFAIL") for word, name in _matched(_SUMMARY, output)}


def django_report(output: str) -> Mapping[str, bool]:
    r"""What Django's runner, or unittest, says of each test with `--verbosity 2`.

    >>> django_report("test_a (x.Tests) ... ok\ntest_b (x.Tests) ... FAIL\n")
    {'test_a (x.Tests)': True, 'test_b (x.Tests)': False}
    """
    return {name: word.lower() in ("ok", "expected failure") for name, word in _matched(_LABELLED, output)}


def sympy_report(output: str) -> Mapping[str, bool]:
    r"""What SymPy's `bin/test --verbose` says of each test.

    >>> sympy_report("test_sin ok\ntest_cos F\n")
    {'test_sin': True, 'test_cos': False}
    """
    return {name: word in ("ok", "f") for name, word in _matched(_SYMPY, output)}


REPORTS: Mapping[str, Callable[[str], Mapping[str, bool]]] = {
    "pytest": pytest_report,
    "django": django_report,
    "sympy": sympy_report,
}


def _matched(pattern: re.Pattern[str], output: str) -> list[tuple[str, str]]:
    rows = (pattern.fullmatch(line.strip()) for line in _COLOUR.sub("", output).splitlines())
    return [(row[1], row[2]) for row in rows if row]
