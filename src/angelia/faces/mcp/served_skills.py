"""The skills that the home's person has said yes to, as a server serves them (SEP-2640): listed, and read file by file.

What is served is what was seen: a skill that nobody looked at, or that has changed since, is not there. Protocols from
before 2026-07-28 know no extensions; there the same files are resources.
"""

import base64
import mimetypes
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import mcp_types as types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from angelia.core.principal import OWNER
from angelia.service.app import App
from angelia.service.skills.seen import SkillState
from angelia.skills.folder import NAMES, SkillFile
from angelia.skills.front_matter import read_front_matter
from angelia.skills.skill import Skill
from angelia.tools.mcp.skills import SKILLS

Context = ServerRequestContext[Any, Any]

_TYPES = {".md": "text/markdown", ".py": "text/x-python", ".sh": "application/x-sh"}
"""Of files for which machines' own tables differ."""


class _SkillAddress(types.RequestParams):
    uri: str


class SkillShelf:
    """Those of who works in `workspace`, as they are when they are asked for."""

    def __init__(self, app: App, workspace: Path) -> None:
        self._app, self._workspace = app, workspace

    def add_to(self, library: Server[Any]) -> None:
        """Say that there are skills, and answer for them."""
        library.extensions[SKILLS] = {}
        library.add_request_handler("skills/list", types.PaginatedRequestParams, self._list)
        library.add_request_handler("skills/get", _SkillAddress, self._get)
        library.add_request_handler("resources/list", types.PaginatedRequestParams, self._list_resources)
        library.add_request_handler("resources/read", types.ReadResourceRequestParams, self._read)

    async def _served(self) -> list[Skill]:
        there = await self._app.skills.look(OWNER, self._workspace)
        return [one.skill for one in there if one.state is SkillState.PINNED and not one.behind]

    async def _list(self, context: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        _first_page(params)
        return _complete(context, {"skills": [_entry(one) for one in await self._served()]})

    async def _get(self, context: Context, params: _SkillAddress) -> HandlerResult:
        for one in await self._served():
            if _address(one, one.content.instructions) == params.uri:
                return _complete(context, {"skill": _entry(one)})
        raise MCPError(types.INVALID_PARAMS, f"No skill is served at {params.uri[:200]}.")

    async def _list_resources(self, _: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        _first_page(params)
        return types.ListResourcesResult(resources=[_resource(one) for one in await self._served()])

    async def _read(self, _: Context, params: types.ReadResourceRequestParams) -> HandlerResult:
        wanted = str(params.uri)
        for skill in await self._served():
            for file in skill.content.files:
                if _address(skill, file) == wanted:
                    return types.ReadResourceResult(contents=[_content(wanted, file)])
        raise MCPError(types.INVALID_PARAMS, f"Nothing is served at {wanted[:200]}.", {"uri": wanted})


def _first_page(params: types.PaginatedRequestParams) -> None:
    if params.cursor:
        raise MCPError(types.INVALID_PARAMS, "All is on the first page.")


def _complete(context: Context, result: dict[str, Any]) -> dict[str, Any]:
    """With what the newer protocol has in every result: it is this person's, and may change at any time."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return result
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}


def _entry(skill: Skill) -> dict[str, Any]:
    instructions = skill.content.instructions
    return {
        "uri": _address(skill, instructions),
        "frontmatter": read_front_matter(instructions.text or "").fields,
        "resources": [
            {
                "uri": _address(skill, file),
                "digest": f"sha256:{sha256(file.data).hexdigest()}",
                "size": len(file.data),
                "mimeType": _mime(file),
            }
            for file in skill.content.files
        ],
    }


def _resource(skill: Skill) -> types.Resource:
    file = skill.content.instructions
    about = types.Annotations(audience=["assistant"])
    return types.Resource(
        uri=_address(skill, file),
        name=skill.name,
        description=skill.description,
        mime_type=_mime(file),
        size=len(file.data),
        annotations=about,
    )


def _address(skill: Skill, file: SkillFile) -> str:
    path = NAMES[0] if file is skill.content.instructions else file.path
    return f"skill://{quote(skill.name, safe='')}/{quote(path)}"


def _content(uri: str, file: SkillFile) -> types.TextResourceContents | types.BlobResourceContents:
    if file.text is not None:
        return types.TextResourceContents(uri=uri, mime_type=_mime(file), text=file.text)
    return types.BlobResourceContents(uri=uri, mime_type=_mime(file), blob=base64.b64encode(file.data).decode())


def _mime(file: SkillFile) -> str:
    kind = Path(file.path).suffix.lower()
    known = _TYPES.get(kind) or mimetypes.guess_type(file.path)[0]
    return known or ("text/plain" if file.text is not None else "application/octet-stream")
