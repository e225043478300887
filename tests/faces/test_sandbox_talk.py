"""In a conversation one sees where it works, and begins the next one elsewhere; what cannot be had changes nothing."""

from pathlib import Path

from angelia.testing.model.steps import say
from tests.faces.angelia import Place, serving

PRESETS = """
[sandbox.presets.desk]
spec = "local"
[sandbox.presets.ship]
spec = "docker:no/such"
docker = {socket = "/no/such/docker.sock"}
"""


def furnished(place: Place) -> None:
    place.home.mkdir()
    (place.home / "config.toml").write_text(PRESETS)


def opened(place: Place) -> tuple[str, str]:
    """Sandbox and preset of the last conversation."""
    first = place.log()[0]
    return first.get("sandbox", "local"), first.get("preset", "")


def test_presets_are_listed_and_one_is_begun_in(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Yes."), say("Yes.")]) as place:
        furnished(place)
        with place.chat() as terminal:
            terminal.types("first")
            terminal.sees("Yes.")
            terminal.types("/sandbox")
            terminal.sees("desk")
            terminal.sees("docker:no/such")
            terminal.sees("/sandbox NAME begins a new conversation there")
            assert opened(place) == ("local", "")
            terminal.types("/sandbox desk")
            terminal.sees("A new conversation in local (preset desk)")
            terminal.sees("The former one: /resume")
            terminal.types("second")
            terminal.sees("Yes.")
            assert opened(place) == ("local", "desk")
            terminal.types("/new")
            terminal.sees("A new conversation in local (preset desk)")
        assert len(place.run("sessions", "--json").out.splitlines()) == 2


def test_a_sandbox_that_cannot_be_had_leaves_the_conversation_open(tmp_path: Path) -> None:
    with serving(tmp_path, [say("One."), say("Two.")]) as place:
        furnished(place)
        with place.chat() as terminal:
            terminal.types("first")
            terminal.sees("One.")
            terminal.types("/sandbox ship")
            terminal.sees("There is no container daemon: /no/such/docker.sock")
            terminal.types("second")
            terminal.sees("Two.")
            terminal.types("/sandbox nowhere")
            terminal.sees("There is no sandbox 'nowhere'")
            terminal.types("/new")
            terminal.sees("A new conversation in local,")
        assert len(place.run("sessions", "--json").out.splitlines()) == 1


def test_a_preset_is_named_on_the_command_line_and_kept_when_one_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path, [say("One."), say("Two."), say("Three.")]) as place:
        furnished(place)
        assert place.ask("first", "--sandbox", "desk").out == "One.\n"
        assert opened(place) == ("local", "desk")
        assert place.ask("again", "--continue", "--sandbox", "desk").out == "Two.\n"
        (place.home / "config.toml").write_text("")
        ended = place.ask("again", "--continue")
        assert (ended.code, ended.out) == (1, "")
        assert "the sandbox preset 'desk' (local), which is not configured any more" in ended.err
