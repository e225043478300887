"""Sites in a browser that no wall of ours surrounds."""

from tests.policy.test_judge import SITE, situation

from angelia.policy.judge import judge
from angelia.policy.situation import NetworkSetting
from angelia.policy.verdict import Allow, Ask, Deny, OpenOrigin


def test_a_site_is_opened_in_a_browser_elsewhere_after_a_yes_to_it_and_never_where_the_network_is_off() -> None:
    effect = OpenOrigin(f"{SITE}/a", "wss://browsers.example")
    free = situation(network=NetworkSetting.ON)
    asked = judge(effect, free)
    assert isinstance(asked, Ask)
    assert asked.pattern == f"open: {SITE}"
    assert "wss://browsers.example has no wall of ours" in asked.reason
    assert isinstance(judge(effect, situation(granted=(asked.pattern,))), Allow)
    assert isinstance(judge(effect, situation(granted=(f"url: {SITE}",))), Ask), "a yes to fetching is none to this"
    assert isinstance(judge(effect, situation(network=NetworkSetting.OFF, granted=(asked.pattern,))), Deny)


def test_the_question_about_a_site_without_a_wall_says_why_there_is_none_and_what_mends_it() -> None:
    missing = "bubblewrap is not installed. To mend it, install it: apt install bubblewrap"
    asked = judge(OpenOrigin(f"{SITE}/a", "", missing), situation(network=NetworkSetting.ON))
    assert isinstance(asked, Ask)
    assert asked.question == f"Open {SITE}/a in a browser without a wall?"
    assert asked.reason == f"This machine has no wall for a browser, so each site is asked about: {missing}."
    assert asked.pattern == f"open: {SITE}"
