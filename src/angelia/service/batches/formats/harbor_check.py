"""Judges a task of Terminal-Bench as Harbor does: its tests come to `/tests`, run, and leave a reward or a report.

Harbor's contract: `/tests/test.sh` writes a number to `/logs/verifier/reward.txt`, or several to `reward.json`
(harborframework.com/docs/tasks, "Tests"). Before it, `run-tests.sh` ended with pytest's summary, which was read.
"""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from angelia.service.batches.check_context import CheckContext, MissingFile
from angelia.service.batches.formats.reports import pytest_report

_LOGS = "/logs/verifier"
_KEPT = 400
"""Characters of what the tests said last that are told."""


async def check(context: CheckContext) -> tuple[float, str]:
    """The reward, and what there is to it.

    Raises:
        RuntimeError: the tests left no reward, or could not be brought there.
    """
    data = context.data
    ready = await context.run(f"rm -rf /tests {_LOGS} && mkdir -p /tests {_LOGS}")
    if ready.status:
        raise RuntimeError(f"/tests could not be made: {ready.output[-_KEPT:]}")
    script = Path(data["script"])
    tests = context.folder / data["tests"]
    for file in sorted(path for path in tests.rglob("*") if path.is_file()):
        await context.put(file, f"/tests/{file.relative_to(tests).as_posix()}")
    await context.put(context.folder / script, f"/tests/{script.name}")
    given = shlex.join(f"{name}={value}" for name, value in data["env"].items())
    line = f"chmod +x /tests/{script.name} && env {given} /tests/{script.name}"
    ran = await context.run(line, seconds=context.seconds)
    said = ran.output.strip()[-_KEPT:]
    if data["says"] == "pytest":
        return _all_passed(ran.output)
    rewards = await _rewards(context)
    if not rewards:
        raise RuntimeError(f"The tests wrote no reward to {_LOGS} (exit {ran.status}). They said last: {said}")
    told = ", ".join(f"{name} {value:g}" for name, value in rewards.items())
    return rewards.get("reward", fmean(rewards.values())), f"{told}; {said}" if said else told


def _all_passed(output: str) -> tuple[float, str]:
    report = pytest_report(output)
    if not report:
        raise RuntimeError(f"The tests told of no test. They said last: {output.strip()[-_KEPT:]}")
    failed = sorted(name for name, passed in report.items() if not passed)
    return float(not failed), f"{len(report) - len(failed)} of {len(report)} tests passed. {' '.join(failed)}".strip()


async def _rewards(context: CheckContext) -> Mapping[str, float]:
    """What the tests wrote: several by their names, else one number (harbor, `Verifier`); nothing if there is none."""
    try:
        return {name: float(value) for name, value in json.loads(await context.read(f"{_LOGS}/reward.json")).items()}
    except MissingFile:
        pass
    try:
        said = (await context.read(f"{_LOGS}/reward.txt")).strip()
    except MissingFile:
        return {}
    return {"reward": float(said)} if said else {}
