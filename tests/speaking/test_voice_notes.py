"""Any sound becomes Ogg with Opus, mono, with its length and loudness measured; without ffmpeg."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.store.media.measure import measure
from angelia.store.media.processes import MediaProcesses, program_folders
from angelia.store.media.voice_notes import PAUSE_S, POINTS, encode_voice
from angelia.testing.model.voice_server import hum

pytestmark = pytest.mark.anyio

OGG = (Path(__file__).parents[1] / "hearing" / "monday.ogg").read_bytes()


def test_sounds_of_different_formats_become_one_with_a_pause_between() -> None:
    first, second = hum("x" * 30), OGG
    note = encode_voice([first, second])
    assert note.lengths[0] == pytest.approx(2, abs=0.03)
    assert note.seconds == pytest.approx(sum(note.lengths) + PAUSE_S, abs=0.03)
    assert note.data.startswith(b"OggS")
    assert b"OpusHead\x01\x01" in note.data  # version 1, one channel (RFC 7845, 5.1)


def test_loudness_follows_the_sound() -> None:
    note = encode_voice([hum("x" * 15, loudness=0.5), hum("x" * 15, loudness=0.05), hum("x" * 15, loudness=0)])
    loud, quiet, silent = note.peaks[5], note.peaks[17], note.peaks[30]
    assert loud == pytest.approx(128, abs=12)
    assert quiet == pytest.approx(13, abs=4)
    assert silent == 0


def test_a_long_sound_has_as_many_points_as_networks_take() -> None:
    assert len(encode_voice([hum("x" * 900)]).peaks) == POINTS


@pytest.mark.parametrize("data", [b"", b"<html>no sound</html>", OGG[:40]])
def test_what_is_no_sound_is_refused_by_its_number(data: bytes) -> None:
    with pytest.raises(BadInput, match="Sound number 2"):
        encode_voice([hum("hello"), data])


async def test_it_is_encoded_in_a_process_of_its_own_and_measured_as_it_is_stored() -> None:
    processes = MediaProcesses()
    note = await processes.encode_voice([hum("x" * 60)])
    found = await measure(note.data, "voice.ogg")
    assert found.mime == "audio/ogg"
    assert found.seconds == pytest.approx(note.seconds, abs=0.05)
    with pytest.raises(BadInput, match="cannot be decoded"):
        await processes.encode_voice([b"no sound"])


def test_the_process_that_encodes_can_read_what_it_needs() -> None:
    import av

    assert any(Path(av.__file__).is_relative_to(folder) for folder in program_folders())


@pytest.mark.real("ffprobe")
def test_ffprobe_says_the_same_of_it(tmp_path: Path) -> None:
    note = encode_voice([OGG])
    (tmp_path / "note.ogg").write_bytes(note.data)
    program = shutil.which("ffprobe")
    assert program
    asked = [program, "-v", "error", "-show_streams", "-show_format", "-of", "json", str(tmp_path / "note.ogg")]
    told = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    [stream] = told["streams"]
    assert (stream["codec_name"], stream["channels"], stream["sample_rate"]) == ("opus", 1, "48000")
    assert float(told["format"]["duration"]) == pytest.approx(note.seconds, abs=0.05)
