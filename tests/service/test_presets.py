"""A name becomes a sandbox in one way, and its limits are those that were written for it."""

from pathlib import Path

import pytest

from angelia.core.errors import ConfigError
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.service.places.presets import SandboxSettings, chosen, kept
from angelia.service.settings.config import load

SETTINGS = """
[sandbox]
spec = "lab"
docker = {memory_mb = 500, cpus = 2.0}
[sandbox.presets.lab]
spec = "docker:python:3.12"
docker = {network = "bridge", cpus = 1.0}
[sandbox.presets.far]
spec = "ssh:box"
"""


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    (tmp_path / "config.toml").write_text(SETTINGS)
    return load(tmp_path, {}).config.sandbox


@pytest.mark.parametrize(
    ("name", "spec", "preset", "docker"),
    [
        ("", "docker:python:3.12", "lab", DockerSettings(memory_mb=500, cpus=1.0, network="bridge")),
        ("lab", "docker:python:3.12", "lab", DockerSettings(memory_mb=500, cpus=1.0, network="bridge")),
        ("far", "ssh:box", "far", DockerSettings(memory_mb=500, cpus=2.0)),
        ("docker:python:3.12", "docker:python:3.12", "", DockerSettings(memory_mb=500, cpus=2.0)),
        ("local", "local", "", DockerSettings(memory_mb=500, cpus=2.0)),
    ],
)
def test_a_name_is_a_preset_or_a_spec(
    settings: SandboxSettings, name: str, spec: str, preset: str, docker: DockerSettings
) -> None:
    found = chosen(settings, name)
    assert (found.spec, found.preset, found.settings["docker"]) == (spec, preset, docker)


def test_what_a_line_or_a_variable_says_of_the_room_holds_for_its_presets_too(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(SETTINGS)
    sandbox = load(tmp_path, {"ANGELIA_SANDBOX": "far"}, ["sandbox.docker.memory_mb=9"]).config.sandbox
    assert chosen(sandbox).spec == "ssh:box"
    assert chosen(sandbox, "lab").settings["docker"] == DockerSettings(memory_mb=9, cpus=1.0, network="bridge")


def test_a_conversation_keeps_its_sandbox_and_takes_its_presets_limits_of_today(settings: SandboxSettings) -> None:
    found = kept(settings, "docker:python:3.11", "lab")
    assert found.spec == "docker:python:3.11", "the log says where it works, whatever the preset says by now"
    assert found.settings["docker"] == chosen(settings, "lab").settings["docker"]
    assert kept(settings, "local", "").preset == ""


def test_without_its_preset_a_conversation_is_not_given_other_limits(settings: SandboxSettings) -> None:
    with pytest.raises(ConfigError, match=r'"docker:x".*begin a new conversation') as refused:
        kept(settings, "docker:x", "gone")
    assert "'gone' (docker:x), which is not configured any more" in refused.value.what


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[sandbox.presets.local]\nspec = "docker:x"', "named with letters, digits, - and _"),
        ('[sandbox.presets."docker:x"]\nspec = "local"', "named with letters, digits, - and _"),
        ('[sandbox.presets.lab]\nspek = "local"', "There is no setting of this name."),
        ('[sandbox.presets.lab]\nspec = "docker:x"\ndocker = {memory = 3}', "There is no setting of this name."),
        ("[sandbox.presets]\nlab = 3", "This is a whole number. It takes a group of spec, local, "),
        ("[sandbox]\npresets = 3", "This is a whole number. It takes a group of settings."),
        ("[sandbox.presets.lab]\ndocker = {}", "lab.spec: It is missing. It takes text."),
    ],
)
def test_a_preset_that_is_wrong_is_refused_with_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"config\.toml") as refused:
        load(tmp_path, {})
    assert says in str(refused.value)
