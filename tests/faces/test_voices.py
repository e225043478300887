"""`angelia voices`: what can speak here, and how it sounds."""

import re

import pytest

from tests.faces.angelia import Place

LOCAL = "--set=speaker=local"


@pytest.mark.real("espeak-ng")
def test_voices_are_listed_by_language_and_say_a_sentence_into_a_file(place: Place) -> None:
    listed = place.run("voices", "german", LOCAL)
    assert (listed.code, [line.split() for line in listed.out.splitlines()][1:]) == (
        0,
        [["espeak-ng:de", "de", "German"]],
    )
    assert "nothing is paid" in listed.err
    said = place.run("voices", "german", LOCAL, "-o", "hello.ogg")
    assert (said.code, said.out) == (0, "hello.ogg\n"), said.err
    (seconds,) = re.findall(r"espeak-ng:de: (\d\.\d) s", said.err)
    assert 1 < float(seconds) < 6
    assert (place.work / "hello.ogg").read_bytes().startswith(b"OggS")
    again = place.run("voices", LOCAL, "-o", "hello.ogg")
    assert again.code == 2
    assert "hello.ogg exists already" in again.err


@pytest.mark.real("espeak-ng")
def test_a_voice_that_there_is_not_is_said_with_how_many_there_are(place: Place) -> None:
    ended = place.run("voices", "martian", LOCAL)
    assert ended.code == 1
    assert re.search(r"No voice has the words “martian”. `angelia voices` lists \d+ others.", ended.err)


@pytest.mark.soak
@pytest.mark.real("espeak-ng")
def test_doctor_hears_the_voice_that_is_set_and_names_one_where_none_is(place: Place) -> None:
    assert 'set speaker = "local"' in place.run("doctor", "--offline").out
    assert re.search(r"✔ speaker +local said \d\.\d s of speech", place.run("doctor", "--offline", LOCAL).out)
