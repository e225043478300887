"""Tasks out of a repository's own history:  python history_tasks.py calc 200 > calc.jsonl; angelia batch calc.jsonl.

Each commit that brought a test asks for itself again: its message is the issue, its parent is where the model begins,
and its test has to pass. Run it beside the repository; `angelia batch` copies that, without what came later.
"""

import json
import re
import subprocess
import sys


def git(repo: str, *words: str) -> str:
    """What Git says."""
    line = ["git", "-C", repo, *words]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout  # noqa: S603 - your own repository


def new_tests(patch: str) -> list[str]:
    """The tests that a patch adds, as pytest names them."""
    found, file = [], ""
    for line in patch.splitlines():
        if line.startswith("+++ b/"):
            file = line.removeprefix("+++ b/")
        elif added := re.match(r"\+(?:async )?def (test_\w+)", line):
            found.append(f"{file}::{added[1]}")
    return found


def main(repo: str, last: str) -> None:
    """Print one instance, in the form of SWE-bench, for each such commit among so many."""
    for row in git(repo, "log", f"-{last}", "--no-merges", "--min-parents=1", "--format=%H %P").splitlines():
        commit, parent = row.split()
        patch = git(repo, "diff", parent, commit, "--", "*test_*.py")
        others = git(repo, "diff", "--name-only", parent, commit, "--", ":!*test_*.py")
        if (tests := new_tests(patch)) and others:
            issue = git(repo, "show", "--no-patch", "--format=%B", commit)
            told = {"instance_id": commit[:12], "repo": repo, "base_commit": parent, "problem_statement": issue}
            print(json.dumps({**told, "test_patch": patch, "FAIL_TO_PASS": tests, "PASS_TO_PASS": []}))


main(*sys.argv[1:])
