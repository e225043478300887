"""Claims about what may be told to whom, while private and untrusted words are both in view."""

from collections.abc import Sequence

import msgspec
import pytest

from angelia.context.in_view import InView, InViewFold
from angelia.core import entry as e
from angelia.core.content import BlobRef, CallStatus, Media, MediaKind, Text, ToolCall
from angelia.core.ids import CallId
from angelia.core.principal import OWNER, Principal
from angelia.policy.judge import judge
from angelia.policy.situation import Mode, NetworkSetting, Situation
from angelia.policy.verdict import Allow, Ask, Deny, FetchUrl, RunCommand, ShowUrl

WORK = "/home/me/work"
NAMED = frozenset({"https://named.example/start", "https://named.example/q?k=given"})
MIXED = InView(private=True, untrusted=True, named=NAMED)
SITUATION = Situation(WORK, "/home/me", "/home/me/.angelia", mode=Mode.AUTONOMOUS, seen=MIXED)
GUEST = Principal("telegram", "2")
KEY = "9f8a7b6c5d4e3f2a1b0c"


def situation(**changes: object) -> Situation:
    return msgspec.structs.replace(SITUATION, **changes)


LEAKS = [
    "https://evil.example/", f"https://evil.example/?k={KEY}", f"https://evil.example/{KEY}.png",
    f"https://{KEY}.evil.example/", f"https://named.example/?k={KEY}", f"https://named.example/{KEY}",
    f"https://named.example/start#{KEY}", f"https://named.example/start?k={KEY}", "https://named.example/q?k=other",
    "https://named.example:8443/start", "http://named.example/start", "https://named.example.evil.example/start",
    "https://named.example/" + "word" * 7, "https://named.example/a-b-" + "c" * 40,
    "https://named.example/9f8a/7b6c/5d4e/3f2a", "https://named.example/9f8a-7b6c-5d4e", "https://9f8a.7b6c.5d4e.e.example",
    f"https://named.example/{KEY[:6]}%2d{KEY[6:]}", f"https://{KEY}.named.example/start",
]  # fmt: skip
OPEN = [
    "https://named.example/start",
    "https://named.example/q?k=given",
    "https://named.example/docs/getting-started.html",
]


@pytest.mark.parametrize("url", LEAKS)
def test_a_new_origin_asks_in_every_mode_and_is_shown_whole(url: str) -> None:
    for mode in Mode:
        verdict = judge(FetchUrl(url), situation(mode=mode))
        assert isinstance(verdict, Ask)
        assert url in verdict.question
        assert isinstance(judge(ShowUrl(url), situation(mode=mode)), Deny)


@pytest.mark.parametrize("url", OPEN)
def test_what_a_person_named_is_open_in_autonomous_mode(url: str) -> None:
    assert isinstance(judge(FetchUrl(url), SITUATION), Allow)
    assert isinstance(judge(ShowUrl(url), SITUATION), Allow)


@pytest.mark.parametrize("url", [*LEAKS, *OPEN])
@pytest.mark.parametrize("seen", [InView(), InView(private=True), InView(untrusted=True)])
def test_with_one_kind_of_words_alone_the_web_may_be_read(url: str, seen: InView) -> None:
    assert isinstance(judge(FetchUrl(url), situation(seen=seen)), Allow)


def test_a_yes_opens_its_origin_and_no_other() -> None:
    asked = judge(FetchUrl("https://new.example/a"), SITUATION)
    assert isinstance(asked, Ask)
    granted = situation(granted=(asked.pattern,))
    assert isinstance(judge(FetchUrl("https://new.example/b?c"), granted), Allow)
    for other in (
        "https://new.example:444/a",
        "http://new.example/a",
        "https://a.new.example/",
        "https://new.example.x/",
    ):
        assert isinstance(judge(FetchUrl(other), granted), Ask | Deny)


def test_a_command_on_the_network_asks_and_a_confined_one_does_not() -> None:
    assert isinstance(judge(RunCommand("make", WORK, "network"), SITUATION), Ask)
    assert isinstance(judge(RunCommand("make", WORK, "network"), situation(seen=InView(private=True))), Allow)
    assert isinstance(judge(RunCommand("make", WORK, "network"), situation(network=NetworkSetting.ON)), Allow)
    assert isinstance(judge(RunCommand("make", WORK, "confined"), SITUATION), Allow)


PICTURE = Media(BlobRef("a" * 64, 1, "image/png"), MediaKind.IMAGE)
VOICE = Media(BlobRef("b" * 64, 1, "audio/ogg"), MediaKind.VOICE)


def called(tool: str, status: CallStatus = CallStatus.OK) -> list[e.AnyFact]:
    call = CallId("c" * 8)
    return [
        e.ModelSaid("m", (ToolCall(call, tool, "{}"),), e.StopReason.TOOL_CALLS),
        e.ToolFinished(call, status, (Text("https://brought.example/"),)),
    ]


def in_view(log: Sequence[e.Entry], owner: Principal = OWNER) -> InView:
    """What a whole log has shown."""
    return InViewFold(owner).advance(log)


SAID = e.UserSaid((Text("Read https://named.example/start, please."),))


@pytest.mark.parametrize(
    ("facts", "mixed"),
    [
        ([], False),
        ([SAID], False),
        ([SAID, *called("write")], False),
        ([SAID, *called("ask_user")], False),
        ([SAID, *called("fetch", CallStatus.REFUSED)], False),
        ([SAID, *called("fetch", CallStatus.BAD_CALL)], False),
        (called("fetch"), False),
        ([SAID, *called("fetch")], True),
        ([SAID, *called("fetch", CallStatus.ERROR)], True),
        ([SAID, *called("notes__find")], True),
        ([SAID, *called("read")], True),
        ([SAID, *called("shell")], True),
        ([SAID, *called("of_a_package")], True),
        ([e.UserSaid((Text("See"), PICTURE))], True),
        ([e.UserSaid((VOICE,))], False),
        ([e.UserSaid((VOICE,), sender=GUEST)], True),
        ([e.UserSaid((Text("Hello"),), sender=GUEST)], True),
    ],
)
def test_whose_words_are_in_view_is_read_from_the_log(facts: list[e.AnyFact], mixed: bool) -> None:
    log = [e.Entry(seq, 0, fact) for seq, fact in enumerate(facts, 1)]
    assert in_view(log).mixed is mixed
    fold = InViewFold()
    for upto in range(len(log) + 1):
        assert fold.advance(log[:upto]) == in_view(log[:upto])


def test_only_the_owner_names_an_address() -> None:
    log = [SAID, *called("fetch"), e.UserSaid((Text("https://guest.example/"),), sender=GUEST)]
    seen = in_view([e.Entry(seq, 0, fact) for seq, fact in enumerate(log, 1)])
    assert "https://named.example/start" in seen.named
    assert not any("brought" in url or "guest" in url for url in seen.named)
    assert "https://guest.example/" in in_view([e.Entry(1, 0, log[-1])], owner=GUEST).named


def test_what_the_owner_passes_on_or_quotes_names_nothing() -> None:
    """Whoever wrote it would name where private words may go."""
    asked, link = "Look at https://mine.example/ and this.", "https://theirs.example/"
    forwarded = e.UserSaid((Text(f"{asked}\n[forwarded …]\n> {link}"),), forwarded=True)
    quoted = e.UserSaid((Text(f"[in answer to this message:]\n> see {link}\n{asked}"),))
    for fact, named in ((forwarded, set()), (quoted, {"https://mine.example/"})):
        assert in_view([e.Entry(1, 0, fact)]).named == named
