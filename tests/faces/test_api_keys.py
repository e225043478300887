"""`angelia web keys`: made once, listed without their secrets, ended."""

from pathlib import Path

from angelia.testing.model.steps import say
from tests.faces.angelia import serving


def test_a_key_is_shown_once_listed_without_its_secret_and_ended(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Never asked.")]) as place:
        made = place.run("web", "keys", "add", "ide", "--day-cost", "2")
        assert made.code == 0
        assert made.out.startswith("angelia_")
        listed = place.run("web", "keys").out
        assert "ide" in listed
        assert "its own" in listed
        assert made.out.strip() not in listed
        assert place.run("web", "keys", "remove", "ide").code == 0
        assert "no keys" in place.run("web", "keys").err
