"""`angelia voices`: what can speak here, and how it sounds."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from angelia.core.counts import counted
from angelia.core.errors import BadInput, NotFound
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table

if TYPE_CHECKING:
    from angelia.models.speakers.port import VoiceName
    from angelia.service.models.speech import Speech

_PATH = click.Path(path_type=Path, dir_okay=False)

SAMPLES = {
    "de": "Hallo, ich bin Angelia, und so klinge ich.",
    "es": "Hola, soy Angelia, y así sueno.",
    "fr": "Bonjour, je suis Angelia, et voici ma voix.",
    "it": "Ciao, sono Angelia, e questa è la mia voce.",
}
"""What a voice says of itself, by its language; the others say it in English."""

_ENGLISH = "Hello, I am Angelia, and this is how I sound."


@click.command(
    epilog=("\b\nExamples:\n  angelia voices\n  angelia voices de\n  angelia voices joe --sample -o joe.ogg")
)
@click.argument("words", nargs=-1)
@click.option("--sample", is_flag=True, help="The first one says a sentence, which is played, or written with -o.")
@click.option("-o", "--output", type=_PATH, help="A new file for the sample: Ogg with Opus.")
@settings_options
def voices(words: tuple[str, ...], sample: bool, output: Path | None, **given: Any) -> int:
    """List the voices of the speaker that is set, or of this machine; WORDS, such as a language, narrow the list."""
    return asyncio.run(_voices([word.lower() for word in words], given, sample=sample, output=output))


async def _voices(words: list[str], given: dict[str, Any], *, sample: bool, output: Path | None) -> int:
    if output and output.exists():
        raise BadInput(f"{output} exists already; nothing was asked and nothing paid.", then="Name another file.")
    app = await open_app(given)
    unset = not app.loaded.config.speaker
    speech = app.speech_of("local") if unset else app.speech
    try:
        with working("asking for voices"):
            known = await speech.voices()
        if unset:
            told = 'Nothing is set that speaks; these are the voices of this machine. Use them with: speaker = "local"'
            echo(told, err=True)
        found = [one for one in known if all(_fits(one, word) for word in words)]
        if known and not found:
            listed = f"`angelia voices` lists {counted(len(known), 'other')}."
            raise NotFound(f"No voice has the words “{' '.join(words)}”.", then=listed)
        if sample or output:
            return await _sampled(speech, found, output)
        _list(speech, found)
        return 0
    finally:
        await speech.close()
        await app.close()


def _fits(voice: "VoiceName", word: str) -> bool:
    return voice.language.lower() == word or word in voice.name.lower() or word in voice.about.lower()


def _list(speech: "Speech", found: "list[VoiceName]") -> None:
    paid = "nothing is paid" if speech.free else "each text is paid"
    rows = [("VOICE", "LANGUAGE", "WHAT")]
    rows += [(one.name, one.language or "any", one.about or "–") for one in found]
    if found:
        echo("\n".join(table(rows, screen().columns if sys.stdout.isatty() else 0)))
    else:
        echo(f"{speech.name} does not say which voices it has; `voice` may name one.", err=True)
    echo(f"{speech.name}: {paid}. A sample: angelia voices NAME --sample", err=True)


async def _sampled(speech: "Speech", found: "list[VoiceName]", output: Path | None) -> int:
    voice, language = (found[0].name, found[0].language) if found else ("", "")
    sound = await speech.aloud(SAMPLES.get(language, _ENGLISH), voice, language)
    if output:
        from angelia.faces.cli.show import write_new

        note = await speech.as_note(sound.data)
        await asyncio.to_thread(write_new, output, note.data)
        echo(str(output))
        echo(f"{voice or speech.name}: {note.seconds:.1f} s", err=True)
    else:
        from angelia.faces.cli.sound import play

        echo(f"{voice or speech.name} speaks", err=True)
        await play(sound.data)
    return 0
