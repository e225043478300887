"""Skills on the page: which there are and are proposed, all that is in one, what differs, and the yes to it."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.errors import BadInput, NotFound
from angelia.core.principal import OWNER
from angelia.core.text import clean, one_line
from angelia.core.unambiguous import unambiguous, unambiguous_line
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RequestRefused, RouteRequest, RouteResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.conversations.driven_conversations import DOOR
from angelia.faces.web.conversations.entry_view import View, diff_view
from angelia.faces.web.conversations.web_conversations import usual_folder
from angelia.path_queries import is_folder
from angelia.service.skills.seen import JudgedSkill, SkillState, seen_files
from angelia.service.skills.skill_acts import state_in_words
from angelia.skills.places import SkillOwner
from angelia.skills.remarks import remarks_on
from angelia.skills.skill import Skill
from angelia.store.tables.seen_skills import SeenFile

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session
    from angelia.service.skills.proposals import WaitingProposal
    from angelia.service.skills.server_skills import ServerSkills

_FOLDERS = 50
"""Conversations, used last, in whose folders it is looked for skills of projects."""
_KEY = 16
_INSTRUCTIONS = ("SKILL.md", "skill.md")


class SeenSkill(Struct, forbid_unknown_fields=True):
    """The version that was shown: the digest of all files."""

    digest: str


class SkillRoutes:
    """The handlers."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def routes(self) -> list[Route]:
        """One row each."""
        return [
            Route("GET", "/api/skills", RouteGuard.LOGIN, self._skills),
            Route("GET", "/api/skills/{key}", RouteGuard.LOGIN, self._skill),
            Route("POST", "/api/skills/{key}/read", RouteGuard.WRITE, self._read),
            Route("POST", "/api/skills/{key}/{act}", RouteGuard.WRITE, self._answer),
        ]

    async def _there(self) -> list[JudgedSkill]:
        """The person's own, and those of projects in which there are conversations."""
        talks = await self._app.transcript.conversations(OWNER, _FOLDERS)
        folders = {Path(one.workspace) for one in talks if one.workspace and one.sandbox == "local"}
        folders &= set(await asyncio.to_thread(lambda: [one for one in folders if is_folder(one)]))
        found: dict[str, JudgedSkill] = {}
        for folder in (None, *sorted(folders)):
            for one in await self._app.skills.look(OWNER, folder):
                found.setdefault(one.skill.path, one)
        for one in await self._served():
            found.setdefault(one.skill.path, one)
        return list(found.values())

    async def _served(self) -> list[JudgedSkill]:
        """What servers of the settings listed when they were reached last; their files are not read here."""
        return await self._of_servers().listed() if self._app.loaded.config.mcp.servers else []

    def _of_servers(self) -> "ServerSkills":
        from angelia.service.skills.server_skills import ServerSkills, ServersOfSettings

        app = self._app

        def begin() -> "Session":
            return app.conversations.begin(door=DOOR, workspace=usual_folder(app.loaded.home))

        servers = ServersOfSettings(app.conversations, app.mcp_sources, app.toolsets, begin)
        return ServerSkills(servers, app.served, app.skills)

    async def _from_server(self, one: JudgedSkill) -> JudgedSkill:
        """With its files, as its server lists it now.

        Raises:
            RequestRefused: it is not to be had; says why.
        """
        told: list[str] = []
        try:
            return await self._of_servers().named(one.skill.path, told.append)
        except NotFound as error:
            raise RequestRefused(404, error.what, " ".join(told), error.then) from error

    async def _skills(self, _: RouteRequest) -> RouteResponse:
        proposed = [_proposed_row(one) for one in await self._app.proposals.look(OWNER)]
        return json_response({"skills": [*proposed, *(_row(one) for one in await self._there())]})

    async def _proposal(self, key: str) -> "WaitingProposal | None":
        return next((one for one in await self._app.proposals.look(OWNER) if _proposal_key(one) == key), None)

    async def _named(self, request: RouteRequest) -> tuple[JudgedSkill, list[JudgedSkill]]:
        there = await self._there()
        for one in there:
            if _key(one) == request.found["key"]:
                return one, there
        raise NotFound("There is no such skill any more.")

    async def _skill(self, request: RouteRequest) -> RouteResponse:
        if waiting := await self._proposal(request.found["key"]):
            remarks = remarks_on(waiting.skill, [other.skill for other in await self._there()])
            return json_response({**_proposed_row(waiting), **_about(waiting.skill, remarks), **_source(waiting)})
        one, there = await self._named(request)
        return await self._shown(one, there)

    async def _read(self, request: RouteRequest) -> RouteResponse:
        """One of a server, with its files as they are now."""
        one, there = await self._named(request)
        if one.of is not SkillOwner.SERVER:
            raise BadInput("Its files are here.", then="Look at it.")
        return await self._shown(await self._from_server(one), there)

    async def _shown(self, one: JudgedSkill, there: Sequence[JudgedSkill]) -> RouteResponse:
        before = await self._app.skills.files_seen(one) if one.state is SkillState.CHANGED else ()
        told = [found.in_words() for found in one.skill.findings]
        told += remarks_on(one.skill, [other.skill for other in there])
        return json_response({**_row(one), **_about(one.skill, told, before)})

    async def _answer(self, request: RouteRequest) -> RouteResponse:
        """A yes, a no, or neither any more; each is to the version that was shown."""
        act, given = request.found["act"], await request.json(SeenSkill)
        if waiting := await self._proposal(request.found["key"]):
            return await self._answer_proposal(waiting, act, given)
        one, _ = await self._named(request)
        if act != "pin" or one.of is not SkillOwner.SERVER:
            _require_shown(one.skill, given)
        skills = self._app.skills
        match act:
            case "pin" if one.of is SkillOwner.SERVER:  # its list alone says which version it is, and not what is in it
                there = await self._from_server(one)
                _require_shown(there.skill, given)
                await skills.pin(OWNER, there.skill)
            case "pin":
                await skills.pin(OWNER, one.skill)
            case "decline":
                await skills.decline(OWNER, one.skill)
            case "unpin":
                await skills.unpin(OWNER, one.skill.path)
            case _:
                raise BadInput("A skill can be pinned, declined or unpinned.")
        await self._app.served.sweep()
        return json_response({})

    async def _answer_proposal(self, waiting: "WaitingProposal", act: str, given: SeenSkill) -> RouteResponse:
        """A yes writes and pins it as it was shown; after a no it waits no more."""
        _require_shown(waiting.skill, given)
        match act:
            case "pin":
                await self._app.proposals.keep(OWNER, waiting)
            case "decline":
                await self._app.proposals.drop(OWNER, waiting)
            case _:
                raise BadInput("What is proposed can be pinned or declined.")
        return json_response({})


def _require_shown(skill: Skill, given: SeenSkill) -> None:
    if skill.digest != given.digest:
        raise RequestRefused(409, "It has changed since it was shown.", then="Look at it again.")


def _about(skill: Skill, told: Sequence[str], before: Sequence[SeenFile] = ()) -> View:
    return {
        "path": unambiguous_line(skill.path),
        "allowed": [unambiguous_line(tool) for tool in skill.allowed],
        "remarks": [unambiguous_line(words) for words in told],
        "files": _files(seen_files(skill.content), before),
    }


def _proposal_key(one: "WaitingProposal") -> str:
    return sha256(f"{one.proposed.conversation} {one.proposed.call}".encode()).hexdigest()[:_KEY]


def _proposed_row(one: "WaitingProposal") -> View:
    row = _row(JudgedSkill(one.skill, SkillOwner.PERSON, SkillState.NEW))
    return {**row, "key": _proposal_key(one), "state": "proposed", "said": "proposed by the model"}


def _source(one: "WaitingProposal") -> View:
    """Where a proposal comes from."""
    at = one.proposed
    told = {"conversation": at.conversation, "at": at.at, "words": clean(one.words), "calls": one.calls}
    return {"source": {**told, "outside": one.outside}}


def _key(one: JudgedSkill) -> str:
    """Names need not be unique, and a path is no part of an address."""
    return sha256(one.skill.path.encode()).hexdigest()[:_KEY]


def _row(one: JudgedSkill) -> View:
    return {
        "key": _key(one),
        "name": unambiguous_line(one.skill.called),
        "of": str(one.of),
        "state": one.state,
        "said": state_in_words(one),
        "does": unambiguous_line(one_line(one.skill.description, 1_100)),
        "digest": one.skill.digest,
        "unseen": one.unseen,
    }


def _files(now: Sequence[SeenFile], before: Sequence[SeenFile]) -> list[View]:
    """The instructions first; each whole, or as it differs from what was seen."""
    new, old = {one.path: one for one in now}, {one.path: one for one in before}
    order = sorted(new | old, key=lambda path: (path not in _INSTRUCTIONS, path))
    return [_file(path, new.get(path), old.get(path), changed=bool(before)) for path in order]


def _file(path: str, now: SeenFile | None, then: SeenFile | None, *, changed: bool) -> View:
    shown = {"path": unambiguous_line(path)}
    if now is None:
        return {**shown, "state": "gone"}
    view = {**shown, "size": now.size, "executable": now.executable, "sha256": now.sha256}
    if changed and then == now:
        return {**view, "state": "same"}
    state = "changed" if then else "new" if changed else "whole"
    if now.text is None:
        return {**view, "state": state}
    if then and then.text is not None:
        return {**view, "state": state, "diff": diff_view(e.Diff(path, _shown(then.text), _shown(now.text)))}
    return {**view, "state": state, "text": _shown(now.text)}


def _shown(text: str) -> str:
    """With a sign for what hides, but for the end of the last line."""
    return unambiguous(text.removesuffix("\n"))
