"""A code reviewer in CI:  git diff origin/main | python -P review.py.

It reads the whole project, changes nothing (mode "plan"), and says what it found by calling a function, so there is
nothing to parse. Each finding is an annotation of GitHub's; one that has to be fixed fails the build.
"""

import sys
from typing import Literal

from angelia import BlockingAgent, NoEffect, tool

found: list[str] = []


@tool(effect=NoEffect())
def finding(path: str, line: int, severity: Literal["must fix", "consider"], what: str) -> None:
    """Report one thing about the change. Call it for each, and for nothing that you have not checked.

    Args:
        path: The file, from the root of the project.
        line: Its line there after the change.
        severity: "must fix" only for what is wrong: a bug, a leak, lost data. Taste is "consider" at most.
        what: What is wrong, what follows from it, and what to do, in two sentences.
    """
    found.append(severity)
    kind = "error" if severity == "must fix" else "notice"
    print(f"::{kind} file={path},line={line}::{what}")


change = sys.stdin.read()
with BlockingAgent(workspace=".", tools=[finding], settings={"policy.mode": "plan", "limits.max_cost": 1.0}) as agent:
    answer = agent.ask(f"Review this change. Read the files around it before you judge.\n\n{change}")
print(answer)
sys.exit("must fix" in found)
