"""What a folder that was brought from a sandbox holds that programs outside would run once somebody enters it."""

import time
from collections.abc import Mapping
from pathlib import Path

from angelia.sandboxes.guard.autorun import NEW_VENV
from angelia.sandboxes.guard.fingerprint import Fingerprint
from angelia.sandboxes.guard.guard import BECAUSE


def what_would_run(folder: Path) -> Mapping[str, str]:
    """Files of it, by the way from its top, each with the reason; nothing of it stood there before, so none is right.

    Blocks for a look at all of it.
    """
    top = str(folder)
    found = Fingerprint(folder).look(running_since=time.time_ns())
    return {
        path[len(top) + 1 :]: BECAUSE[seen.kind]
        for path, seen in found.items()
        if any(not risk.startswith(NEW_VENV) for risk in seen.judged.risks)
    }
