"""What changes in a whole home, told to every page that is open: which conversations have something new."""

import asyncio
from collections.abc import AsyncIterator

from angelia.core.errors import StoreClosed
from angelia.core.principal import OWNER
from angelia.faces.web.conversations.beats import heard
from angelia.faces.web.conversations.watched_conversation import PageEvent
from angelia.service.keep_running import keep_running
from angelia.store.log.transcript import Transcript

_LOOK_S = 0.25
"""How often it is looked for what somebody appended, while a page is open: one look is a read of shared memory."""
_MOST_CHANGED = 50


class HomeEvents:
    """Looks while somebody listens, once for all who do."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._readers: set[asyncio.Event] = set()
        self._looking: asyncio.Task[None] | None = None
        self._ended = False

    async def events(self) -> AsyncIterator[PageEvent]:
        """Which conversations have changed; a beat where nothing has."""
        news = asyncio.Event()
        self._readers.add(news)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(keep_running("the look for changed conversations", self._look))
        place = -1
        try:
            while not self._ended:
                news.clear()
                place, changed = await self._transcript.changed(OWNER, place, _MOST_CHANGED)
                yield PageEvent("home", {"changed": changed})
                while not await heard(news):
                    yield PageEvent("beat", {})
        finally:
            self._readers.discard(news)
            if not self._readers:
                self._look_no_more()

    def end(self) -> None:
        """Whoever listens is at the end; they come again where somebody else serves the page."""
        self._ended = True
        self._look_no_more()
        for news in self._readers:
            news.set()

    def _look_no_more(self) -> None:
        if self._looking:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        version = await self._transcript.version()
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                now = await self._transcript.version()
            except StoreClosed:
                return
            if now != version:
                version = now
                for news in self._readers:
                    news.set()
