"""The policy's word on a call: its effects, the settings, what was granted, and who could say yes."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from angelia.context.in_view import InView, InViewFold
from angelia.core.entry import Address, Entry, QuestionKind
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.engine.broker import Judge
from angelia.policy.approvers import ApproversOf
from angelia.policy.situation import Confinement, Mode, NetworkSetting, Situation
from angelia.policy.verdict import (
    Allow,
    AnswerServer,
    AskPerson,
    ChangeSchedule,
    Effect,
    FetchUrl,
    GiveSecret,
    HandOverPage,
    RunCommand,
    RunScript,
    SearchWeb,
    SendTo,
    ShowUrl,
    UseEditor,
    UseServer,
    Verdict,
    WritePath,
    strictest,
)
from angelia.sandboxes.port import Description, NoSuchFile, Sandbox, SandboxError
from angelia.service.settings.config import Loaded
from angelia.store.tables.grants import Grants

_MOST_SETTINGS = 100_000
"""Bytes of a repository's settings that are read."""


class JudgedConversation(Struct, frozen=True):
    """For which conversation is judged, of a child the one that it works for; `address`, where its answers go, `mode`
    and `entries` are of the moment.

    `sandbox` (spec, and preset if there is one) and `workspace` are as they stand in the log: what is granted is
    granted for them. `speakers` are those who have a say in the running turn besides the owner of the home: what was
    granted holds where they are whose the conversation is, since what the owner was granted is no guest's.
    """

    conversation: ConversationId
    owner: Principal
    sandbox: str
    workspace: str
    address: Callable[[], Address]
    mode: Callable[[], Mode]
    entries: Callable[[], Sequence[Entry]]
    approvers: ApproversOf
    speakers: Callable[[], Sequence[Principal]] = tuple


def conversation_judge(loaded: Loaded, standing: JudgedConversation, sandbox: Sandbox, grants: Grants) -> Judge:
    """A judge for one conversation. What it knows of commands is loaded with the first call: 10 ms of a start."""
    view = InViewFold(standing.owner)

    async def verdict_on(effects: Sequence[Effect]) -> Verdict:
        from angelia.policy.judge import judge, settle
        from angelia.policy.roles import Right

        speakers = standing.speakers()
        others = not set(speakers) <= {standing.owner}
        described = await sandbox.describe()
        situation = Situation(
            workspace=described.workspace,
            home=str(Path.home().resolve()),
            own_home=str(loaded.home.resolve()),
            mode=standing.mode(),
            confinement=_confinement(loaded, described),
            network=NetworkSetting(loaded.config.sandbox.network),
            allow_ranges=loaded.config.policy.allow_ranges,
            address=standing.address(),
            seen=view.advance(standing.entries()) if _may_carry_away(effects) else InView(),
            keeps_changes=described.keeps_changes,
            others_speak=others,
        )
        absent, leads = await _absent(effects, situation, sandbox), await _destination(effects, situation, sandbox)
        situation = replace(situation, absent=absent, destination=leads)

        def judged(situation: Situation) -> Verdict:
            as_they_are = (pair for effect in effects for pair in _as_they_are(effect, described, situation))
            return strictest([judge(one, where) for one, where in as_they_are])

        verdict = judged(situation)
        if not isinstance(verdict, Allow) and not others:  # what is allowed is so whatever else was granted
            given = await grants.matching(standing.owner, standing.sandbox, standing.workspace, standing.conversation)
            verdict = judged(replace(situation, granted=tuple(grant.pattern for grant in given))) if given else verdict
        own = all(isinstance(effect, AnswerServer | AskPerson | HandOverPage) for effect in effects)
        kind, right = (QuestionKind.CHOICE, Right.TALK) if own else (QuestionKind.PERMISSION, Right.ASK)
        return settle(verdict, await standing.approvers(kind, speakers), right)

    return verdict_on


def _may_carry_away(effects: Sequence[Effect]) -> bool:
    """Whether words that are in view may leave by these, or act later."""
    carries = FetchUrl | SearchWeb | ShowUrl | SendTo | RunScript | RunCommand | UseServer | ChangeSchedule
    return any(isinstance(effect, carries) for effect in effects)


async def _absent(effects: Sequence[Effect], situation: Situation, sandbox: Sandbox) -> frozenset[str]:
    """The files that a command would empty and that are not there. What cannot be looked at may be there."""
    from angelia.policy.judge import ground_of
    from angelia.policy.shell.emptied_files import files_emptied

    absent = set[str]()
    for effect in effects:
        named = files_emptied(effect.command, ground_of(effect, situation)) if isinstance(effect, RunCommand) else ()
        for path in named:
            try:
                await sandbox.stat(path)
            except NoSuchFile:
                absent.add(path)
            except SandboxError:
                continue
    return frozenset(absent)


async def _destination(effects: Sequence[Effect], situation: Situation, sandbox: Sandbox) -> str:
    """Where the repository leads in which a command means other machines by name; empty where it cannot be said."""
    from angelia.policy.judge import ground_of
    from angelia.policy.shell.git_remotes import git_destination, names_a_remote

    for effect in effects:
        if isinstance(effect, RunCommand) and names_a_remote(effect.command.split()):
            at = ground_of(effect, situation).cwd
            return git_destination(await _git_settings(at, situation.workspace, sandbox))
    return ""


async def _git_settings(folder: str, workspace: str, sandbox: Sandbox) -> str:
    """Those of the repository that Git would find from a folder; one that further files explain has none here."""
    for place in (Path(folder), *Path(folder).parents):
        if not place.is_relative_to(workspace):
            break
        try:
            await sandbox.stat(f"{place}/.git")
        except NoSuchFile:
            continue
        except SandboxError:
            break
        try:
            read = [piece async for piece in sandbox.get(f"{place}/.git/config", limit=_MOST_SETTINGS)]
        except SandboxError:
            break
        return b"".join(read).decode("utf-8", "surrogateescape")
    return "[include]"


def _confinement(loaded: Loaded, described: Description) -> Confinement:
    if described.confined:
        return Confinement.REAL
    return Confinement.SWITCHED_OFF if loaded.config.sandbox.confine == "off" else Confinement.NONE


def _as_they_are(effect: Effect, described: Description, situation: Situation) -> list[tuple[Effect, Situation]]:
    """What an effect comes to in this sandbox, and where each part of it happens.

    A confined command of a sandbox that is always on the network reaches it, whether or not it says so, and so does a
    server that runs there; where nothing is confined, such a server is not either. Where a command is not held to the
    hosts that it names, it is judged as one that may reach all. What the
    editor does in place of the sandbox is not confined; where the person has given up confinement, that is no news.
    """
    news = situation.confinement is not Confinement.SWITCHED_OFF
    match effect:
        case RunCommand() if described.commands_by:
            there = replace(situation, confinement=Confinement.SWITCHED_OFF, network=NetworkSetting.ON)
            means: list[tuple[Effect, Situation]] = [(UseEditor(described.commands_by), situation)]
            return [*(means if news else ()), (replace(effect, reach="outside"), there)]
        case WritePath() if described.writes_by and news:
            return [(UseEditor(described.writes_by), situation), (effect, situation)]
        case RunCommand(reach="confined") if described.confined and described.always_networked:
            return [(replace(effect, reach="network", hosts=()), situation)]
        case RunCommand() if effect.hosts and not described.limits_hosts:
            return [(replace(effect, hosts=()), situation)]
        case GiveSecret(command=command):
            there_it_is = _as_they_are(command, described, situation)
            return [(replace(effect, command=one), at) for one, at in there_it_is if isinstance(one, RunCommand)]
        case UseServer() if not described.confined:
            return [(replace(effect, reach="outside"), situation)]
        case UseServer(reach="confined") if described.always_networked:
            return [(replace(effect, reach="network"), situation)]
        case _:
            return [(effect, situation)]
