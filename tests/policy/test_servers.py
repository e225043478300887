"""Claims about servers that bring tools of their own: what starts, what is reached, what is used, and who is asked."""

import msgspec
import pytest

from angelia.context.in_view import InView
from angelia.policy.judge import judge
from angelia.policy.situation import Mode, NetworkSetting, Situation
from angelia.policy.verdict import Allow, Ask, Deny, RunCommand, Trust, UseServer, Verdict

SITUATION = Situation("/home/me/work", "/home/me", "/home/me/.angelia")
MODES = (Mode.PLAN, Mode.ASK, Mode.EDIT, Mode.AUTONOMOUS)
PROCESS = UseServer("notes", "", "/bin/notes --all", "server: notes (notes 1a2b)", Trust.PASSED)
WEB = msgspec.structs.replace(PROCESS, shown="https://notes.example/mcp", url="https://notes.example/mcp")


def letters(effect: UseServer, **changes: object) -> str:
    """One letter for each mode."""
    return "".join(_letter(judged(effect, mode=mode, **changes)) for mode in MODES)


def judged(effect: UseServer, **changes: object) -> Verdict:
    return judge(effect, msgspec.structs.replace(SITUATION, **changes))


def _letter(verdict: Verdict) -> str:
    return {Allow: "y", Ask: "?", Deny: "n"}[type(verdict)]


def using(effect: UseServer, trust: Trust, *, looks: bool = False) -> UseServer:
    return msgspec.structs.replace(effect, tool="find", trust=trust, looks=looks)


@pytest.mark.parametrize("server", [PROCESS, WEB])
def test_who_named_a_server_decides_whether_it_begins_unasked(server: UseServer) -> None:
    assert letters(server) == "????"
    for trust in (Trust.CONFIGURED, Trust.ALLOWED):
        assert letters(msgspec.structs.replace(server, trust=trust)) == "yyyy"


@pytest.mark.parametrize("server", [PROCESS, WEB])
def test_its_tools_ask_until_the_person_has_allowed_them(server: UseServer) -> None:
    for trust in (Trust.PASSED, Trust.CONFIGURED):
        assert letters(using(server, trust)) == "n???"
        assert letters(using(server, trust, looks=True)) == "????"
    assert letters(using(server, Trust.ALLOWED)) == "nyyy"


@pytest.mark.parametrize("server", [PROCESS, WEB])
def test_one_that_the_settings_allow_asks_once_private_and_untrusted_words_are_in_view(server: UseServer) -> None:
    tool, mixed = using(server, Trust.ALLOWED), InView(private=True, untrusted=True)
    assert letters(tool, seen=mixed) == "n???"
    assert letters(tool, seen=mixed, granted=(server.pattern,)) == "nyyy"
    assert letters(tool, seen=mixed, network=NetworkSetting.ON) == "nyyy"
    assert letters(tool, seen=InView(private=True)) == "nyyy"
    assert letters(msgspec.structs.replace(tool, reach="confined"), seen=mixed) == "nyyy"


def test_one_yes_covers_its_beginning_and_every_tool_but_not_what_changes_in_plan_mode() -> None:
    granted = (PROCESS.pattern,)
    assert letters(PROCESS, granted=granted) == "yyyy"
    assert letters(using(PROCESS, Trust.PASSED), granted=granted) == "nyyy"
    assert letters(using(PROCESS, Trust.PASSED, looks=True), granted=granted) == "yyyy"


def test_a_yes_to_one_server_is_none_to_another_of_its_name_nor_to_a_command() -> None:
    asked = judged(PROCESS)
    assert isinstance(asked, Ask)
    other = msgspec.structs.replace(PROCESS, shown="/tmp/notes", pattern="server: notes (notes ffff)")
    assert isinstance(judged(other, granted=(asked.pattern,)), Ask)
    command = RunCommand(asked.pattern, SITUATION.workspace, "outside")
    assert isinstance(judge(command, msgspec.structs.replace(SITUATION, granted=(asked.pattern,))), Ask)


@pytest.mark.parametrize(
    ("reach", "said", "unsaid"),
    [
        ("confined", "has no network", "whatever you may do"),
        ("network", "with the network", "whatever you may do"),
        ("outside", "whatever you may do", "sandbox"),
    ],
)
def test_the_question_says_how_far_a_server_may_go(reach: str, said: str, unsaid: str) -> None:
    for tool in ("", "find"):
        asked = judged(msgspec.structs.replace(PROCESS, reach=reach, tool=tool))
        assert isinstance(asked, Ask)
        assert said in asked.reason
        assert unsaid not in asked.question + asked.reason
    assert letters(msgspec.structs.replace(PROCESS, reach=reach)) == "????"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://notes.example/mcp", "?"),
        ("http://127.0.0.1:3000/mcp", "?"),
        ("http://localhost:3000/mcp", "?"),
        ("http://10.0.0.7:3000/mcp", "?"),
        ("http://[::1]:3000/mcp", "?"),
        ("http://169.254.169.254/", "n"),
        ("http://[fd00:ec2::254]/", "n"),
        ("http://metadata.google.internal/", "n"),
        ("http://2130706433/", "n"),
        ("https://me:secret@notes.example/", "n"),
        ("file:///etc/passwd", "n"),
    ],
)
def test_an_address_that_a_program_named_is_judged_before_anybody_is_asked(url: str, expected: str) -> None:
    server = msgspec.structs.replace(WEB, url=url)
    assert letters(server) == expected * 4
    if expected == "n":
        assert isinstance(judged(server, granted=(server.pattern,)), Deny)


def test_a_network_that_is_off_is_off_for_what_a_program_named_and_not_for_the_persons_own_settings() -> None:
    off = judged(WEB, network=NetworkSetting.OFF, granted=(WEB.pattern,))
    assert isinstance(off, Deny)
    assert "`network`" in off.reason
    assert isinstance(judged(PROCESS, network=NetworkSetting.OFF), Ask)
    assert isinstance(judged(using(WEB, Trust.CONFIGURED), network=NetworkSetting.OFF), Ask)
