"""An instance of SWE-bench, or of a set of its form, as a row of ours: an issue, a repository, tests that must pass.

Fields: `instance_id`, `problem_statement`, `repo`, `base_commit`, `test_patch`, `FAIL_TO_PASS`, `PASS_TO_PASS`
(swebench.com/SWE-bench/guides/datasets). Sets of its form name their image (`image_name`, `docker_image`), their tests'
command (`test_cmd`) and who reads what it says (`log_parser`) as well; a `repo` that is a folder of this machine is
copied and needs no image.
"""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from angelia.core.errors import BadInput
from angelia.service.batches.formats.reports import REPORTS

_CHECK = str(Path(__file__).with_name("swe_check.py"))
_IMAGE = "swebench/sweb.eval.x86_64.{}:latest"
"""Their own images on Docker Hub; `__` is written `_1776_` there (swebench, `TestSpec.instance_image_key`)."""
_CHECK_SECONDS = 1800.0
"""As their harness gives an instance (`run_evaluation --timeout`)."""
_ASKED = "{}\n\nMend this in the repository in which you work. Tests that you do not see are run afterwards."
_PATCHED = re.compile(r"^diff --git a/.* b/(.*)$", re.MULTILINE)
_NO_TESTS = (".json", ".png", ".csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
_COMMANDS: Mapping[str, tuple[str, str]] = {
    "django/django": ("./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1", "django"),
    "sympy/sympy": ("PYTHONWARNINGS=ignore::UserWarning,ignore::SyntaxWarning bin/test -C --verbose", "sympy"),
}
"""By repository, where it is not pytest: what runs its tests, and whose report it is (swebench, `constants`)."""
_PYTEST = ("python -m pytest -rA --tb=no -p no:cacheprovider", "pytest")
_STAYS = (".git/hooks/", ".git/config", ".git/info/")
_ALONE = (
    "git checkout -q --detach {commit} && git reset -q --hard"
    " && git for-each-ref --format='delete %(refname)' | git update-ref --stdin"
    " && git reflog expire --expire=now --all && git gc -q --prune=now"
)
"""The repository as it was, without what came later: the mending itself may be among that."""


def is_swe_instance(row: object) -> bool:
    """Whether a line is such an instance."""
    return isinstance(row, dict) and {"instance_id", "problem_statement", "base_commit"} <= row.keys()


def swe_row(row: Mapping[str, Any], where: str, folder: Path) -> dict[str, Any]:
    """The instance as a task.

    Raises:
        BadInput: it is not whole; says what is missing.
    """
    name, repo = str(row["instance_id"]), str(row.get("repo", ""))
    patch, commit = str(row.get("test_patch", "")), str(row["base_commit"])
    if not re.fullmatch(r"[0-9A-Za-z._/-]+", commit):
        raise BadInput(f"{where} names no commit: {commit!r}.")
    files = [file for file in _PATCHED.findall(patch) if not file.endswith(_NO_TESTS)]
    wanted = {field: _names(row.get(field, []), where) for field in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    if not wanted["FAIL_TO_PASS"]:
        raise BadInput(f"{where} names no test that has to pass (FAIL_TO_PASS).")
    command, usual = _COMMANDS.get(repo, _PYTEST)
    report = _report(row.get("log_parser"), where) or usual
    named = [_label(file) for file in files] if report == "django" else files
    data = {
        "patch": patch,
        "commit": commit,
        "files": files,
        "command": _told(row.get("test_cmd")) or f"{command} {' '.join(map(shlex.quote, named))}",
        "report": report,
        "must": wanted["FAIL_TO_PASS"],
        "still": wanted["PASS_TO_PASS"],
    }
    asked = _ASKED.format(str(row["problem_statement"]).strip())
    told = {"id": name, "prompt": asked, "check": _CHECK, "check_seconds": _CHECK_SECONDS, "data": data}
    local = Path(folder, repo).expanduser()
    if repo and local.is_dir():
        return {**told, "files": _copied(local, repo), "setup": _ALONE.format(commit=shlex.quote(commit))}
    image = str(row.get("image_name") or row.get("docker_image") or "")
    image = image or _IMAGE.format(name.lower().replace("__", "_1776_"))
    return {**told, "sandbox": f"docker:{image}", "workspace": "image"}


def _copied(local: Path, repo: str) -> dict[str, str]:
    """All files of a repository; what makes Git run something stays here, and no sandbox would take it."""
    found = (path.relative_to(local).as_posix() for path in local.rglob("*") if path.is_file())
    return {path: f"{repo.rstrip('/')}/{path}" for path in sorted(found) if not path.startswith(_STAYS)}


def _names(value: object, where: str) -> list[str]:
    """Names of tests: a list, or one written as JSON, which is how the sets themselves have it."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise BadInput(f"{where} has a list of tests that is no JSON: {error}.") from error
    if not isinstance(found, list):
        raise BadInput(f"{where} has no list of tests, but {type(found).__name__}.")
    return [str(name) for name in found]


def _report(parser: object, where: str) -> str:
    """Which report a parser of theirs reads: `parse_log_pytest_v2` that of pytest."""
    if not parser:
        return ""
    found = next((name for name in REPORTS if name in str(parser)), "")
    if not found:
        known = ", ".join(REPORTS)
        raise BadInput(f"{where} has tests whose report is read by {parser!r}; known are those of {known}.")
    return found


def _told(command: object) -> str:
    return " && ".join(map(str, command)) if isinstance(command, list) else str(command or "")


def _label(file: str) -> str:
    """How Django's runner calls the tests of a file.

    >>> _label("tests/auth/test_views.py")
    'auth.test_views'
    """
    return file.removesuffix(".py").removeprefix("tests/").replace("/", ".")
