"""Notes many things in a home, in a process of its own: `python -m tests.notes.writer HOME NAME COUNT`."""

import asyncio
import sys
from pathlib import Path

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import NoteKind, NoteScope
from angelia.core.ids import CallId
from angelia.service.app import App
from angelia.service.settings.config import load

TOGETHER = 20
"""Notes that are made at once, each in a conversation of its own."""


async def write(home: Path, name: str, count: int) -> None:
    """`count` notes, each of other words; whatever goes wrong ends the process."""
    env = {"ANGELIA_HOME": str(home), "HOME": str(home.parent / "person")}
    app = await App.open(load(home, env), env)
    (work := home.parent / name).mkdir()
    sessions = [app.conversations.begin(door="terminal", workspace=work) for _ in range(TOGETHER)]
    for session in sessions:
        await session.record(e.UserSaid((Text("hello"),)))
    found = [app.conversations.notes(session) for session in sessions]

    async def some(at: int) -> None:
        notes = found[at]
        assert notes
        for number in range(at, count, TOGETHER):
            text = f"{name} {number}"
            await notes.remember(CallId(f"c{number}_0"), text, NoteScope.PERSON, NoteKind.FACT, 0)

    await asyncio.gather(*(some(at) for at in range(min(TOGETHER, count))))
    await app.close()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
