"""What the network of a command is by the settings, through the whole program."""

import socket
from pathlib import Path

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import requests, serving

pytestmark = [pytest.mark.real("bwrap"), pytest.mark.real("curl")]

RANGES = ("--set", 'policy.allow_ranges=["127.0.0.0/8"]')


@pytest.mark.parametrize(
    ("settings", "hosts", "result"),
    [
        ((), [], "is this machine. To reach it on purpose, add its range to the setting allow_ranges."),
        (RANGES, [], "could not be reached: Connection refused."),
        (RANGES, ["a.example"], "127.0.0.1 is not among the hosts that this command was granted: a.example."),
    ],
)
def test_a_command_reaches_what_fetch_would_and_its_result_says_what_it_did_not(
    tmp_path: Path, settings: tuple[str, ...], hosts: list[str], result: str
) -> None:
    with socket.socket() as taken:  # nobody listens there
        taken.bind(("127.0.0.1", 0))
        command = f"curl -s --noproxy '' http://127.0.0.1:{taken.getsockname()[1]}/ >/dev/null"
        steps = [call("shell", {"command": command, "reach": "network", "hosts": hosts}), say("Done.")]
        with serving(tmp_path, steps) as place:
            ended = place.ask("do", "it", "--set", "policy.mode=autonomous", *settings)
            assert ended.code == 0, ended.err
            said = str(requests(place)[1]["body"])
    assert "\\n[network: " in said
    assert result in said


def test_a_host_that_nobody_granted_is_no_when_nobody_is_there_and_the_question_names_it(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "make", "reach": "network", "hosts": ["pypi.org"]}), say("Done.")]
    with serving(tmp_path, steps) as place:
        ended = place.ask("do", "it")
        assert ended.code == 0, ended.err
        said = str(requests(place)[1]["body"])
    assert "It wants the network, as far as pypi.org." in said
    assert "(network: pypi.org)" in ended.err
