"""The one place where an effect meets the rules: facts in, a verdict with its reasons out."""

from typing import assert_never
from urllib.parse import urlsplit

from msgspec.structs import replace

from angelia.core.text import one_line
from angelia.policy.approvers import Approvers
from angelia.policy.editors import may_use_editor
from angelia.policy.egress import judge_address, judge_url
from angelia.policy.grants import covering, remember_pattern
from angelia.policy.hosts import command_granted, hosts_granted, hosts_pattern, refused_host, wants_network
from angelia.policy.new_origins import origin_of, why_ask
from angelia.policy.path_location import absolute
from angelia.policy.paths import may_read, may_send, may_write
from angelia.policy.roles import Right, may
from angelia.policy.secrets_given import may_give_to_command, may_give_to_site
from angelia.policy.servers import asked_by_server, may_use
from angelia.policy.shell.classifier import classify
from angelia.policy.shell.read_only import only_looks
from angelia.policy.shell.risk import CommandContext, Finding, Risk
from angelia.policy.situation import Confinement, Mode, NetworkSetting, Situation
from angelia.policy.verdict import (
    Act,
    Allow,
    AnswerServer,
    Ask,
    AskPerson,
    ChangeSchedule,
    Deny,
    Effect,
    FetchUrl,
    GiveSecret,
    HandOverPage,
    LogInForServer,
    NoEffect,
    OfServer,
    OpenOrigin,
    ReadPath,
    RunCommand,
    RunScript,
    SearchWeb,
    SeePage,
    SendOut,
    SendTo,
    ShowUrl,
    UseEditor,
    UsePainter,
    UseProfile,
    UseRanker,
    UseSecret,
    UseServer,
    UseSpeaker,
    Verdict,
    VisitForServer,
    WritePath,
)

_MILD = frozenset({Risk.CHANGES})
_READS = frozenset({Risk.SECRETS, Risk.SECRETS_HERE})
"""Risks that change nothing: they ask in plan mode too."""
_HELD_BY_CONFINEMENT = frozenset({Risk.CHANGES_OUTSIDE, Risk.SECRETS, Risk.PERSISTS, Risk.KILLS})
"""Cannot happen in a real confinement: the home is hidden, only the workspace is writable, processes are its own."""
_TAKEN_BACK = frozenset({Risk.DESTROYS, Risk.TRUNCATES, Risk.DISCARDS})
"""Can be taken back where the old state of what a confined command changes is kept."""
_HELD_WITHOUT_NETWORK = frozenset({Risk.SENDS_OUT, Risk.INSTALLS})

_REACHES = ("confined", "network", "outside")
"""Values of `sandboxes.port.Reach`, each wider than the one before."""


def judge(effect: Effect, situation: Situation) -> Verdict:
    """The verdict on one effect. What no rule allows is denied; whether a question may be asked, `settle` decides."""
    match effect:
        case RunCommand():
            return _command(effect, situation)
        case GiveSecret(command=command):
            return may_give_to_command(effect, situation, ground_of(command, situation))
        case ReadPath(path=path, resolved=resolved):
            return _remembered(may_read(path, resolved, situation), situation)
        case WritePath(path=path, resolved=resolved):
            return _write(may_write(path, resolved, situation), path, resolved, situation)
        case FetchUrl() | OpenOrigin() | SearchWeb() | ShowUrl() | SendTo() | RunScript() | SeePage():
            return _on_the_web(effect, situation)
        case UseSecret() | UseProfile():
            return _on_the_web(effect, situation)
        case SendOut(path=path, resolved=resolved, address=address):
            verdict = may_send(path, resolved, situation)
            if isinstance(verdict, Allow) and address != situation.address:
                there = ":".join(part for part in (address.door, address.chat, address.thread) if part)
                return Ask(f"Send {path} to {there}?", "It is not the chat that this conversation answers in.")
            return verdict
        case AskPerson() | AnswerServer() | VisitForServer() | LogInForServer() | HandOverPage():
            return _of_person(effect, situation)
        case NoEffect():
            return Allow("It does nothing outside of the conversation.")
        case Act() | UseEditor() | UsePainter() | UseSpeaker() | UseRanker() | UseServer() | ChangeSchedule():
            return _by_others(effect, situation)
        case _:
            assert_never(effect)


def _schedule(question: str, situation: Situation) -> Verdict:
    """A later turn works on what is written now, so it has to be known whose words those are."""
    if situation.mode is Mode.PLAN:
        return Deny("In plan mode nothing is scheduled. Leave plan mode for it (/mode edit).")
    if situation.seen.untrusted:
        return Ask(question, "Words that nobody answers for are in view, and nobody looks when it runs.")
    return Allow("It is the person's own wish.")


def settle(verdict: Verdict, approvers: Approvers, right: Right = Right.ASK) -> Verdict:
    """The verdict with those who may answer it; a question that nobody may, or to which those who want it have no
    `right`, is a no. It is decided here alone.
    """
    match verdict:
        case Ask(question=question, reason=reason) if not approvers.principals:
            return Deny(f"{reason} That needs a yes, and nobody is here who could give it ({one_line(question)}).")
        case Ask(question=question, reason=reason) if not may(approvers.role, right):
            whose = f"of a {approvers.role}" if approvers.role else "of somebody who is not let in"
            return Deny(f"{reason} That needs a yes, and in a turn {whose} nobody is asked ({one_line(question)}).")
        case Ask():
            return replace(verdict, approvers=approvers.principals)
        case Allow() | Deny():
            return verdict
        case _:
            assert_never(verdict)


def _write(verdict: Verdict, path: str, resolved: str, situation: Situation) -> Verdict:
    if isinstance(verdict, Deny):
        return verdict
    if situation.mode is Mode.PLAN:
        return Deny("In plan mode nothing is changed. Describe the change instead, or leave plan mode (/mode edit).")
    if isinstance(verdict, Allow) and situation.mode is Mode.ASK:
        verdict = Ask(f"Write {path}?", "In ask mode every write asks.", pattern=f"write {resolved}")
    return _remembered(verdict, situation)


def _remembered(verdict: Verdict, situation: Situation) -> Verdict:
    """A question about a path; an earlier yes to this very path answers it."""
    if not isinstance(verdict, Ask) or not verdict.pattern:
        return verdict
    # A command's pattern cannot begin like this, so a yes to a command is never taken for one to a path.
    pattern = f"path: {verdict.pattern}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    return Ask(verdict.question, verdict.reason, pattern)


def _of_person(effect: AskPerson | OfServer | HandOverPage, situation: Situation) -> Verdict:
    """What is the person's to answer or to do."""
    match effect:
        case AskPerson(question=question):
            return Ask(question, "The model asks.")
        case AnswerServer() | VisitForServer() | LogInForServer():
            return asked_by_server(effect)
        case HandOverPage():
            return _hand_over(effect, situation)
        case _:
            assert_never(effect)


def _by_others(
    effect: Act | UseEditor | UsePainter | UseSpeaker | UseRanker | UseServer | ChangeSchedule, situation: Situation
) -> Verdict:
    """What is not done by us here and now, but by an editor, a server, a third-party tool or a later turn."""
    match effect:
        case ChangeSchedule():
            return _schedule(effect.question, situation)
        case Act():
            return _act(effect, situation)
        case UseEditor():
            return may_use_editor(effect, situation)
        case UsePainter():
            return _paint(effect, situation)
        case UseSpeaker(leaves=True) if situation.network is NetworkSetting.OFF:
            return Deny("The network is switched off by the setting `network`, and this voice is not on this machine.")
        case UseSpeaker():
            return Allow("Words of the model's go back to where it was asked, by the voice that the owner has set.")
        case UseRanker():
            return Allow("It is the person's own past, in the order of the model that the owner has set.")
        case UseServer():
            return may_use(effect, situation)
        case _:
            assert_never(effect)


def _paint(effect: UsePainter, situation: Situation) -> Verdict:
    """Words and pictures that leave for the painter which the person has named, as they do for the model itself.

    Nobody else can choose who gets them, so whatever else is in view raises no question.
    """
    if effect.leaves and situation.network is NetworkSetting.OFF:
        return Deny("The network is switched off by the setting `network`, and this painter is not on this machine.")
    if situation.mode is Mode.PLAN:
        return Deny("In plan mode nothing is made and nothing is paid. Describe the picture instead (/mode edit).")
    pattern = f"paint: {effect.painter}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    if situation.mode is Mode.ASK:
        question = f"Have {effect.painter} paint “{effect.words}”?"
        return Ask(question, "In ask mode every painter is asked about.", pattern)
    return Allow("The painter is the person's own choice.")


def _act(effect: Act, situation: Situation) -> Verdict:
    """What a third-party tool does is asked about, even if it changes nothing, until somebody says yes to its pattern.

    A tool's own word opens nothing: `changes=False` only keeps plan mode from refusing it.
    """
    if situation.mode is Mode.PLAN and effect.changes:
        return Deny("In plan mode nothing is changed, and this tool would. Leave plan mode for it (/mode edit).")
    pattern = f"act: {effect.tool}: {effect.pattern}" if effect.pattern else ""
    if pattern and pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    return Ask(
        f"Let the tool `{effect.tool}` {effect.what} ({effect.target})?",
        f"It {'changes' if effect.changes else 'reaches'} something outside of the conversation.",
        pattern,
    )


def _address_named(url: str, situation: Situation) -> Verdict:
    """The verdict on a URL as it is written; if its host is an address, on that address."""
    verdict = judge_url(url)
    host = urlsplit(url).hostname or "" if isinstance(verdict, Allow) else ""
    numeric = ":" in host or host.replace(".", "").isdigit()
    return judge_address(host, situation.allow_ranges) if numeric else verdict


def _open_origin(effect: OpenOrigin, situation: Situation) -> Verdict:
    """No namespace holds that browser and it resolves names itself: each site is asked about, in every mode."""
    verdict = _address_named(effect.url, situation)
    if isinstance(verdict, Deny):
        return verdict
    if situation.network is NetworkSetting.OFF:
        return Deny("The network is switched off by the setting `network`.")
    pattern = f"open: {origin_of(effect.url)}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    if effect.no_wall:
        why = f"This machine has no wall for a browser, so each site is asked about: {effect.no_wall}."
        return Ask(f"Open {effect.url} in a browser without a wall?", why, pattern)
    why = f"The browser at {effect.browser} has no wall of ours around it, so each site is asked about."
    return Ask(f"Open {effect.url} in the browser at {effect.browser}?", why, pattern)


def _fetch(url: str, situation: Situation) -> Verdict:
    verdict = _address_named(url, situation)
    if isinstance(verdict, Deny):
        return verdict
    pattern = f"url: {origin_of(url)}"
    question = f"Fetch {url}?"  # whole: what an address carries may stand at its end
    match situation.network:
        case NetworkSetting.OFF:
            return Deny("The network is switched off by the setting `network`.")
        case NetworkSetting.ON:
            return Allow("The network is on.")
        case NetworkSetting.ASK if pattern in situation.granted:
            return Allow(f"You said yes to `{pattern}`.")
        case NetworkSetting.ASK if situation.mode is Mode.AUTONOMOUS:
            reason = why_ask(url, situation.seen)
            return Ask(question, reason, pattern) if reason else Allow("In autonomous mode the web may be read.")
        case NetworkSetting.ASK:
            return Ask(question, "Whoever runs that site learns of it.", pattern)
        case _:
            assert_never(situation.network)


def _on_the_web(
    effect: FetchUrl | OpenOrigin | SearchWeb | ShowUrl | SendTo | RunScript | UseSecret | UseProfile | SeePage,
    situation: Situation,
) -> Verdict:
    match effect:
        case FetchUrl(url=url):
            return _fetch(url, situation)
        case OpenOrigin():
            return _open_origin(effect, situation)
        case ShowUrl(url=url):
            return _unasked(_fetch(url, situation))
        case SearchWeb():
            return _search(effect, situation)
        case SendTo():
            return _send_to(effect, situation)
        case RunScript():
            return _script(effect, situation)
        case UseSecret():
            return may_give_to_site(effect, situation)
        case UseProfile():
            return _profile(effect, situation)
        case SeePage():
            return _see(effect, situation)
        case _:
            assert_never(effect)


SEARCH = "search the web"
"""Under what a yes to searches is remembered."""


def _search(effect: SearchWeb, situation: Situation) -> Verdict:
    """Words that leave for services that the person has chosen, and that no page can exchange for others."""
    if situation.network is NetworkSetting.OFF:
        return Deny("The network is switched off by the setting `network`.")
    if SEARCH in situation.granted:
        return Allow(f"You said yes to `{SEARCH}`.")
    question = f"Search the web for “{effect.words}” ({', '.join(effect.services)})?"
    if situation.seen.mixed:
        why = "It may carry what was read here: private words and words from elsewhere are both in view."
        return Ask(question, why, SEARCH)
    if situation.network is NetworkSetting.ASK and situation.mode is not Mode.AUTONOMOUS:
        return Ask(question, "These services learn what is looked for.", SEARCH)
    return Allow("The services are the person's own choice.")


def _send_to(effect: SendTo, situation: Situation) -> Verdict:
    """Acts on a page: what a person would do there, and its server learns of it.

    A page that was opened may be acted on, until private words and somebody else's are both in view, as they are as
    soon as one was read: then each site is asked about once.
    """
    if not effect.origin:
        return Allow("It is an empty page.")
    if situation.network is NetworkSetting.OFF:
        return Deny("The network is switched off by the setting `network`.")
    if situation.mode is Mode.PLAN:
        return Deny("In plan mode pages are only looked at: acting on one may send or change something there.")
    if effect.files:
        return _upload(effect, situation)
    pattern = f"act on: {effect.origin}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    question = f"Act on {effect.origin} in the browser ({effect.what})?"
    if situation.seen.mixed:
        why = "It may send what was read here: private words and words from elsewhere are both in view."
        return Ask(question, why, pattern)
    if situation.mode is Mode.ASK:
        return Ask(question, "In ask mode every site is asked about.", pattern)
    return Allow("The page was opened, and nothing of anybody else's is in view.")


def _upload(effect: SendTo, situation: Situation) -> Verdict:
    """A whole file leaves, so it is asked about in every mode; a yes to acts on the page does not cover it."""
    pattern = f"upload to: {effect.origin}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    return Ask(
        f"Upload {', '.join(effect.files)} to {effect.origin}?", "Whoever runs that site gets the file.", pattern
    )


def _script(effect: RunScript, situation: Situation) -> Verdict:
    """Code in a page can read all that the page can, and send it: it is asked about in every mode, in full."""
    if situation.network is NetworkSetting.OFF:
        return Deny("The network is switched off by the setting `network`.")
    if situation.mode is Mode.PLAN:
        return Deny("In plan mode pages are only looked at: a script may send or change something there.")
    pattern = f"scripts on: {effect.origin}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    where = effect.origin or "an empty page"
    question = f"Run this script on {where} in the browser?\n{effect.code}"
    return Ask(question, "It can do there whatever the page itself can.", pattern if effect.origin else "")


def _profile(effect: UseProfile, situation: Situation) -> Verdict:
    """Logins lent to a conversation serve its owner's turns; in somebody else's, each call is asked about."""
    pattern = f"profile: {effect.profile}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    if effect.lent and not situation.others_speak:
        return Allow("These logins were lent to the conversation.")
    if situation.mode is Mode.PLAN:
        return Deny("In plan mode no logins are used.")
    question = f"Use the logins {effect.profile} on {effect.origin}?"
    return Ask(question, "That site sees you as logged in, and what it shows reaches the model.", pattern)


def _see(effect: SeePage, situation: Situation) -> Verdict:
    """A conversation has one browser, logged in as whoever did so: in somebody else's turn each use is asked about."""
    if not situation.others_speak:
        return Allow("The page was opened by a call that was judged.")
    question = f"Show {effect.origin or 'a page'} in the browser of this conversation?"
    return Ask(question, "Somebody else speaks now, and would read what the browser sees where you are logged in.")


def _hand_over(effect: HandOverPage, situation: Situation) -> Verdict:
    if situation.others_speak:
        return Deny("The page may show where its owner is logged in: it is handed over in a turn of their own.")
    return Ask(effect.question, "The model cannot do this by itself.")


def _unasked(verdict: Verdict) -> Verdict:
    """A question that nobody is troubled with."""
    if isinstance(verdict, Ask):
        return Deny(f"{verdict.reason} Nobody is asked about a picture in an answer; it stays a link.")
    return verdict


def _command(effect: RunCommand, situation: Situation) -> Verdict:
    if effect.reach not in _REACHES:
        return Deny(f"There is no reach called {effect.reach!r}; it is one of {', '.join(_REACHES)}.")
    context = ground_of(effect, situation)
    findings = classify(effect.command, context)
    for finding in findings:
        if finding.risk is Risk.OURS:
            return Deny(f"{_sentence([finding])} Tools may not touch it.")
    if effect.reach == "network" and situation.network is NetworkSetting.OFF:
        return Deny("The network is switched off by the setting `network`.")
    if refused := refused_host(effect.hosts, situation.allow_ranges):
        return refused
    if situation.mode is Mode.PLAN:
        if not only_looks(effect.command, context) or any(finding.risk not in _READS for finding in findings):
            return Deny(
                "In plan mode only commands that look at things run. Leave plan mode for this one (/mode edit)."
            )
    elif granted := (
        covering(situation.granted, effect.command, context, _reach(effect, situation))
        or command_granted(effect.command, _hosts(effect, situation), situation.granted, context)
    ):
        return Allow(f"You said yes to `{granted}`.")
    risky = [f for f in findings if _counts(f.risk, effect, situation)]
    reason = _why_ask(effect, situation, risky)
    if not reason:
        return Allow("It runs in the workspace, and nothing in it is risky.")
    if hosts := _hosts(effect, situation):
        own = remember_pattern(
            effect.command, context
        )  # the proxy holds it to the hosts: a star is as good as confined
        pattern = hosts_pattern(hosts, own, harmless=not risky and situation.mode is not Mode.ASK)
    else:
        pattern = remember_pattern(effect.command, context, _reach(effect, situation))
    return Ask(f"Run `{one_line(effect.command)}`?", reason, pattern)


def ground_of(effect: RunCommand, situation: Situation) -> CommandContext:
    """Where a command would run."""
    here = CommandContext(situation.workspace, situation.home, situation.own_home)
    at = absolute(effect.cwd or here.workspace, here)
    return CommandContext(here.workspace, here.home, here.own_home, at, situation.absent, situation.destination)


def _hosts(effect: RunCommand, situation: Situation) -> tuple[str, ...]:
    """The hosts that this command is held to; none where nothing holds it."""
    held = situation.confinement is Confinement.REAL and effect.reach == "network"
    return effect.hosts if held else ()


def _why_ask(effect: RunCommand, situation: Situation, risky: list[Finding]) -> str:
    """Why this command asks; empty when it does not."""
    hosts = _hosts(effect, situation)
    if risky:
        return f"{_sentence(risky)} {wants_network(hosts)}" if hosts else _sentence(risky)
    if situation.confinement is Confinement.NONE:
        return "This machine offers no confinement, so every command asks (the setting `confine` can switch that off)."
    if effect.reach == "outside" and situation.confinement is Confinement.REAL:
        return "It leaves the confinement: it may do whatever you may do."
    granted = hosts_granted(hosts, situation.granted)
    if effect.reach != "confined" and situation.network is NetworkSetting.ASK and not granted:
        if situation.mode is not Mode.AUTONOMOUS:
            return wants_network(hosts)
        if effect.reach == "network" and situation.seen.mixed:
            return f"{wants_network(hosts)} Private words and words from elsewhere are both in view."
    return "In ask mode every command asks." if situation.mode is Mode.ASK else ""


def _counts(risk: Risk, effect: RunCommand, situation: Situation) -> bool:
    """Whether a risk is one here, given what the confinement holds back."""
    held = situation.confinement is Confinement.REAL and effect.reach != "outside"
    if risk in _MILD or (held and risk in _HELD_BY_CONFINEMENT):
        return False
    if held and effect.reach == "confined" and situation.keeps_changes and risk in _TAKEN_BACK:
        return False
    return not (held and effect.reach == "confined" and risk in _HELD_WITHOUT_NETWORK)


def _sentence(findings: list[Finding]) -> str:
    """The reasons for people, at most four, each once.

    >>> _sentence([Finding(Risk.DISCARDS, "overwrites uncommitted changes", "git restore .")])
    'It overwrites uncommitted changes: `git restore .`.'
    """
    reasons = dict.fromkeys(f"{finding.reason}: `{one_line(finding.piece, 60)}`" for finding in findings)
    more = f"; and {len(reasons) - 4} more" if len(reasons) > 4 else ""
    return f"It {'; it '.join(list(reasons)[:4])}{more}."


def _reach(effect: RunCommand, situation: Situation) -> str:
    """How far this command gets here, as `grants.COMMAND_REACHES` has it."""
    confined = situation.confinement is Confinement.REAL or effect.reach == "outside"
    return effect.reach if confined else "unconfined"
