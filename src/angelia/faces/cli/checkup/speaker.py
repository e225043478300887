"""Looks at the speaker: whether one is set, and whether it says a word; one that is paid is not asked."""

import time
from collections.abc import AsyncIterator

from angelia.core.errors import AngeliaError
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.service.app import App

_WORDS = "Everything is well."


async def look_at_speaker(app: App) -> AsyncIterator[CheckResult]:
    """What speaks, how long it takes for a sentence; how to get a voice, where there is none."""
    if not app.loaded.config.speaker:
        yield await _not_set(app)
        return
    speech = app.speech
    if not speech.free:
        yield well("speaker", f"{speech.name} (not asked: it would cost; `angelia voices --sample` does)")
        return
    began = time.monotonic()
    try:
        sound = await speech.aloud(_WORDS, language="en")
        note = await speech.as_note(sound.data)
    except AngeliaError as error:
        yield broken("speaker", f"{speech.name}: {error.what} {error.why}".rstrip(), error.then)
        return
    took = time.monotonic() - began
    yield well("speaker", f"{speech.name} said {note.seconds:.1f} s of speech in {took:.1f} s, the first of it")


async def _not_set(app: App) -> CheckResult:
    from angelia.models.speakers.local import can_speak
    from angelia.service.models.speech import HOW

    here = can_speak(app.loaded.home / "voices")
    if here:
        return absent("speaker", f"nothing is set that speaks; this machine can: {here}", 'set speaker = "local"')
    return absent("speaker", "nothing is set that speaks", HOW)
