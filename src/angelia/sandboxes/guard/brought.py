"""What a folder that was copied or brought holds that programs outside would run once somebody enters it."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from angelia.sandboxes.guard.autorun import NEW_VENV
from angelia.sandboxes.guard.fingerprint import Fingerprint, Seen
from angelia.sandboxes.guard.reasons import BECAUSE

Stood = Callable[[str, Seen], bool]
"""Whether what stands at this way from the top is its person's own."""


def nothing_stood(_within: str, _seen: Seen) -> bool:
    """Of what comes from elsewhere nothing is its person's own."""
    return False


def leave_out(folder: Path, stood: Stood = nothing_stood) -> Mapping[str, str]:
    """Remove from a folder of ours what would run; what went, by the way from its top, each with the reason.

    Folders keep their permissions and times. Blocks for two looks at all of it, or more.

    Raises:
        OSError: something cannot be removed, so nobody should enter the folder.
    """
    left: dict[str, str] = {}
    while found := _what_would_run(folder, stood):  # settings that go may have named others
        for name in found:
            _remove(folder / name)
        left |= found
    return left


def _what_would_run(folder: Path, stood: Stood) -> Mapping[str, str]:
    top = str(folder)
    looked = Fingerprint(folder).look(running_since=time.time_ns())
    found = {path[len(top) + 1 :]: seen for path, seen in looked.items()}
    return {
        within: BECAUSE[seen.kind]
        for within, seen in found.items()
        if any(not risk.startswith(NEW_VENV) for risk in seen.judged.risks) and not stood(within, seen)
    }


def _remove(file: Path) -> None:
    known = file.parent.stat()
    file.parent.chmod(known.st_mode | 0o300)
    file.unlink()
    file.parent.chmod(known.st_mode)
    os.utime(file.parent, ns=(known.st_atime_ns, known.st_mtime_ns))
