"""Looks at where programs and modules are looked for: in the folder in which one is, a model may have laid them."""

import os
from collections.abc import AsyncIterator

from angelia.core.unambiguous import unambiguous_line
from angelia.faces.cli.checkup.check_result import CheckResult, broken
from angelia.service.app import App


async def look_at_search_paths(app: App) -> AsyncIterator[CheckResult]:
    """Whether one of them has an entry that is empty or relative; nothing is said where none has."""
    for name in ("PATH", "PYTHONPATH"):
        value = app.environ.get(name, "")
        here = [entry for entry in value.split(os.pathsep) if value and not os.path.isabs(entry)]  # noqa: PTH117
        if here:
            entries = ", ".join(unambiguous_line(entry) if entry else "an empty entry" for entry in here)
            yield broken(
                name,
                f"it has {entries}: the folder in which you are, and what a model wrote there, is looked into",
                f"Take that out where {name} is set. `${name}:/more` makes an empty entry where there was none before.",
            )
