"""The code that runs in this process, as far as it lies in a workspace.

Much of it is imported long after the start, and all of it again at the next one, outside of every sandbox: who writes
there is out. So it is only read where it lies beneath a workspace (a project's own `.venv`, a checkout of ours, a
folder of `PYTHONPATH`), and what is itself a folder of the path, as that of a program is, is no workspace.
"""

import os
import sys
from pathlib import Path

_OURS = str(Path(__file__).parents[2])


def own_code(folder: Path) -> tuple[Path, ...]:
    """What of it lies in `folder`, a path without links: the outermost of each as it really lies, and of what is not
    there yet what would hold it; `folder` alone where that is all of it, or a link that can be replaced leads to it.
    """
    found: dict[Path, None] = {}
    links: list[Path] = []
    within = f"{str(folder).rstrip('/')}/"
    for place in dict.fromkeys((*sys.path, sys.prefix, sys.base_prefix, _OURS)):
        named = os.path.abspath(place)  # noqa: PTH100 - as text: many times as fast, at each begin of a conversation
        real = os.path.realpath(named)
        if f"{real}/".startswith(within):
            at = Path(real)
            found[next(one for one in (at, *at.parents) if one == folder or one.exists())] = None
        if real != named:
            ways = (one.parent.resolve() / one.name for one in (Path(named), *Path(named).parents) if one.is_symlink())
            links += [one for one in ways if one.is_relative_to(folder)]
    if any(not any(link.is_relative_to(one) for one in found) for link in links):
        return (folder,)
    return tuple(one for one in found if not any(one.is_relative_to(other) for other in found if other != one))
