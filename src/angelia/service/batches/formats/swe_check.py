"""Judges an instance of SWE-bench: its tests are put over the model's, run, and those that it names must pass."""

import shlex

from angelia.service.batches.check_context import CheckContext
from angelia.service.batches.formats.reports import REPORTS

_PATCH = "angelia-tests.patch"
_PYTHON = "PATH=/opt/miniconda3/envs/testbed/bin:$PATH; export PATH"
"""The environment in which their images keep what a repository needs (swebench, `dockerfiles`)."""
_NAMED = 10
_SECONDS = 120.0


async def check(context: CheckContext) -> tuple[bool, str]:
    """Whether all tests pass that should, and which do not.

    Raises:
        RuntimeError: the tests cannot be put there.
    """
    data = context.data
    await context.write(_PATCH, data["patch"])
    before = "; ".join(f"git checkout -q {data['commit']} -- {shlex.quote(file)}" for file in data["files"])
    put = f"({before}) 2>/dev/null; git apply {_PATCH}; put=$?; rm -f {_PATCH}; exit $put"
    applied = await context.run(put, seconds=_SECONDS) if data["patch"] else None
    if applied and applied.status:
        raise RuntimeError(f"The tests could not be put over the repository: {applied.output[-500:]}")
    ran = await context.run(f"{_PYTHON}; {data['command']}", seconds=context.seconds)
    report = REPORTS[data["report"]](ran.output)
    missing = [name for name in data["must"] if not report.get(name)]
    broken = [name for name in data["still"] if not report.get(name)]
    told = f"{len(data['must']) - len(missing)} of {len(data['must'])} mended, {len(broken)} broken"
    if not report:
        told += f". No test was told of (exit {ran.status}): {ran.output.strip()[-500:]}"
    elif missing or broken:
        told += f": {', '.join([*missing, *broken][:_NAMED])}"
    return not missing and not broken, told
