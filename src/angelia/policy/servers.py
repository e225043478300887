"""Whether a server that brings tools of its own may be started, reached and used."""

from urllib.parse import urlsplit

from angelia.core.text import one_line
from angelia.policy.egress import judge_address, judge_url, ranges_named
from angelia.policy.situation import Mode, NetworkSetting, Situation
from angelia.policy.verdict import (
    Allow,
    AnswerServer,
    Ask,
    Deny,
    OfServer,
    Trust,
    UseServer,
    Verdict,
    VisitForServer,
)


def may_use(effect: UseServer, situation: Situation) -> Verdict:
    """The verdict on one server, or on one call of its tools.

    One yes covers a server as a whole: to begin with it, and each of its tools. What it says of itself (`looks`)
    opens nothing but plan mode, where it still asks. One that the settings allow asks as a new origin does: once
    private words and words from elsewhere are both in view, if what it is told may leave.
    """
    if effect.trust is Trust.PASSED and effect.url:
        refused = _refused(effect.url, situation)
        if refused:
            return Deny(refused)
    if effect.tool and situation.mode is Mode.PLAN and not effect.looks:
        return Deny("In plan mode nothing is changed, and this tool may. Leave plan mode for it (/mode edit).")
    sends = effect.tool and effect.reach != "confined" and situation.network is not NetworkSetting.ON
    if effect.trust is Trust.ALLOWED and sends and situation.seen.mixed and effect.pattern not in situation.granted:
        return Ask(
            _question(effect),
            f"Private words and words from elsewhere are both in view. {_reason(effect)}",
            effect.pattern,
        )
    if effect.trust is Trust.ALLOWED or (effect.trust is Trust.CONFIGURED and not effect.tool):
        return Allow("It stands in your own settings.")
    if effect.pattern in situation.granted:
        return Allow(f"You said yes to `{effect.pattern}`.")
    return Ask(_question(effect), _reason(effect), effect.pattern)


def asked_by_server(effect: OfServer) -> Verdict:
    """What a server wants of the person in the middle of a call; where it sends them, they see whole.

    The name of a host is shown as it goes over the wire, so that no letter of it passes for another.
    """
    if isinstance(effect, AnswerServer):
        return Ask(effect.question, f"The MCP server {effect.server} asks, and gets the answer.")
    host = _host(effect.url)
    if not host:
        return Deny(f"The MCP server {effect.server} named an address that no browser should open.")
    if isinstance(effect, VisitForServer):
        return Ask(
            f"Go to {host} for the MCP server {effect.server}, and say yes once you have done there what it asks for?",
            "It cannot go on without. What you enter there goes to that site, not through Angelia.",
        )
    wrong = f"{effect.fault} Please answer once more.\n\n" if effect.fault else ""
    scope = f" (for: {effect.scope})" if effect.scope else ""
    return Ask(
        f"{wrong}The MCP server {effect.server} wants a login at {host}{scope}. Log in here, in any browser:\n\n"
        f"{effect.url}\n\nIf that browser runs on the machine of Angelia, this is all. Else it ends at a page that "
        f"cannot be shown ({effect.redirect}…): answer with the whole address of that page.",
        "The login at hand does not allow this call.",
    )


def _host(url: str) -> str:
    """The host that a browser would go to, as it goes over the wire; empty where none should."""
    try:
        parts = urlsplit(url)
        return parts.hostname.encode("idna").decode() if parts.hostname and parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _refused(url: str, situation: Situation) -> str:
    """Why a server that somebody's program named may not be reached, whoever says yes."""
    verdict = judge_url(url)
    host = urlsplit(url).hostname or "" if isinstance(verdict, Allow) else ""
    if ":" in host or host.replace(".", "").isdigit():
        verdict = judge_address(host, (*situation.allow_ranges, *ranges_named(url)))
    if isinstance(verdict, Deny):
        return verdict.reason
    if situation.network is NetworkSetting.OFF:
        return "The network is switched off by the setting `network`."
    return ""


def _question(effect: UseServer) -> str:
    if effect.tool:
        return f"Use the tool `{effect.tool}` of the MCP server {effect.server}?"
    verb = "Connect to" if effect.url else "Start"
    where = "" if effect.reach == "outside" else " in the sandbox"
    return f"{verb} the MCP server {effect.server}{where}? `{one_line(effect.shown)}`"


def _reason(effect: UseServer) -> str:
    if effect.url:
        return f"What is sent to it leaves the confinement, for {one_line(effect.shown)}."
    match effect.reach:
        case "confined":
            return "It runs in this conversation's sandbox: it may do what commands there may, and has no network."
        case "network":
            return "It runs in this conversation's sandbox, with the network: what it sees there, it may send."
        case _:
            return "It runs outside of the confinement: it may do whatever you may do."
