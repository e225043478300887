"""`angelia secrets`: typed without echo or read from a pipe, listed without its value, and shown by nothing else."""

from pathlib import Path

from angelia.testing.model.steps import call, say
from tests.faces.angelia import Place, requests, serving
from tests.secrets.keyring_in_a_file import NAME

VALUE = "k0rrekt-horse"


def test_a_secret_is_typed_unseen_listed_without_its_value_and_forgotten(tmp_path: Path) -> None:
    place = at(tmp_path)
    with place.terminal("secrets", "add", "github/password", "--for", "github.com", "--in", "file") as terminal:
        terminal.sees("which is not shown")
        terminal.types_unseen(VALUE)
        terminal.sees("which only you can read")
        assert terminal.ends() == 0
        assert VALUE not in terminal.seen
    listed = place.run("secrets")
    assert "https://github.com" in listed.out
    assert VALUE not in listed.out + listed.err
    assert place.run("secrets", "remove", "github/password").code == 0
    assert "no secrets" in place.run("secrets").err
    assert VALUE not in (place.home / "keys" / "secrets.json").read_text()


def test_a_file_with_a_secret_reaches_model_log_and_screen_without_it(tmp_path: Path) -> None:
    steps = [call("read_file", {"path": "notes.txt"}), say("It has a secret in it.")]
    with serving(tmp_path, steps) as place:
        assert place.run("secrets", "add", "wifi", stdin=f"{VALUE}\n".encode()).code == 0
        (place.work / "notes.txt").write_text(f"The password is {VALUE}, as ever.\n")
        asked = place.ask("What is in notes.txt?")
        assert asked.code == 0
        shown = asked.out + asked.err + place.run("show").out + place.run("export").out
        assert VALUE not in shown
        assert VALUE not in str(requests(place))
        assert holds(place, VALUE) == ["keys/secrets.json"]


def test_where_a_keyring_works_a_secret_goes_there(tmp_path: Path) -> None:
    place = at(tmp_path)
    keyring = {"PYTHON_KEYRING_BACKEND": NAME, "TEST_KEYRING": str(tmp_path / "keyring.json")}
    keyring["PYTHONPATH"] = str(Path(__file__).parents[2])
    kept = place.run("secrets", "add", "wifi", stdin=f"{VALUE}\n".encode(), **keyring)
    assert "system's keyring" in kept.err
    assert VALUE in (tmp_path / "keyring.json").read_text()
    assert holds(place, VALUE) == []


def test_what_cannot_be_kept_is_refused_and_says_why(tmp_path: Path) -> None:
    place = at(tmp_path)
    refused = place.run("secrets", "add", "bank/code", "--code", stdin=b"no seed!\n")
    assert refused.code != 0
    assert "no seed for one-time codes" in refused.err
    assert "no seed!" not in refused.err
    assert place.run("secrets", "add", "wifi", stdin=b"\n").code != 0
    assert not (place.home / "keys" / "secrets.json").exists()


def at(folder: Path) -> Place:
    """A home, without any model."""
    (folder / "work").mkdir()
    return Place(folder / "home", folder / "work")


def holds(place: Place, value: str) -> list[str]:
    """The files of a home in which a value stands."""
    files = [path for path in place.home.rglob("*") if path.is_file()]
    return [str(path.relative_to(place.home)) for path in files if value.encode() in path.read_bytes()]
