"""Skills at a server, in the words of their extension: what it lists, one that is asked for, and folders (SEP-2640)."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import Field

from angelia.tools.mcp.failures import ServerLost, ServerRefused
from angelia.tools.mcp.library_errors import in_our_terms
from mcp import Client

SKILLS = "io.modelcontextprotocol/skills"
"""The extension by which servers serve skills; the library has no words of its own for it."""

MOST_PAGES = 50
"""Pages of a list; a server whose list has no end is not read for ever."""

MOST_FOLDERS = 100
"""Folders of one skill that are looked into."""

_NOT_THERE = (types.INVALID_PARAMS, types.METHOD_NOT_FOUND)
_FOLDER = "inode/directory"


class _SkillPage(types.PaginatedResult):
    skills: list[Any] = Field(default_factory=list)


class _ListSkills(types.PaginatedRequest[Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"


class _SkillAddress(types.RequestParams):
    uri: str


class _GetSkill(types.Request[_SkillAddress, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"
    params: _SkillAddress


class _OneSkill(types.Result):
    skill: Any = None


class _FolderAddress(types.PaginatedRequestParams):
    uri: str


class _ReadFolder(types.Request[_FolderAddress, Literal["resources/directory/read"]]):
    method: Literal["resources/directory/read"] = "resources/directory/read"
    params: _FolderAddress


class _FolderPage(types.PaginatedResult):
    resources: list[types.Resource] = Field(default_factory=list)


def _ability(client: Client) -> dict[str, Any] | None:
    """What the server says of its skills; None where it does not say that it has any."""
    return (client.server_capabilities.extensions or {}).get(SKILLS)


async def skills_of(client: Client) -> list[Any]:
    """What the server lists of the skills that it serves, as it came; nothing where it does not say that it has any.

    No file of them is read, and a list need not be all that there are.

    Raises:
        ServerRefused: it says that it has some, and does not list them.
        ServerLost: the connection ended before an answer came.
    """
    if _ability(client) is None:
        return []
    found: list[Any] = []

    async def page(cursor: str | None) -> str | None:
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        listed = await client.session.send_request(_ListSkills(params=params), _SkillPage)
        found.extend(listed.skills)
        return listed.next_cursor

    await _pages(page)
    return found


async def skill_at(client: Client, uri: str) -> Any:
    """What the server says of the skill at an address, listed or not; None where it serves none there.

    Raises:
        ServerRefused: it answered with something else.
        ServerLost: the connection ended before an answer came.
    """
    if _ability(client) is None:
        return None
    try:
        request = _GetSkill(params=_SkillAddress(uri=uri))
        return (await client.session.send_request(request, _OneSkill)).skill
    except MCPError as error:
        if error.code in _NOT_THERE:
            return None
        raise _failure(error) from error
    except ValueError as error:
        raise _failure(error) from error


async def files_below(client: Client, root: str, most: int) -> list[str]:
    """The addresses of the files in the folder `root` (without a slash at its end) and below it.

    More than `most` end with one more. A server that does not say that it can be asked is not asked; it has none.

    Raises:
        ServerRefused: it did not answer as it says that it can.
        ServerLost: the connection ended before an answer came.
    """
    if not (_ability(client) or {}).get("directoryRead"):
        return []
    files: list[str] = []
    folders = [root]
    for folder in folders:  # grows while it is gone through

        async def page(cursor: str | None, uri: str = folder) -> str | None:
            request = _ReadFolder(params=_FolderAddress(uri=uri, cursor=cursor))
            found = await client.session.send_request(request, _FolderPage)
            inside = [one for one in found.resources if str(one.uri).startswith(f"{uri}/")]
            folders.extend(str(one.uri) for one in inside if one.mime_type == _FOLDER and str(one.uri) not in folders)
            files.extend(str(one.uri) for one in inside if one.mime_type != _FOLDER)
            return found.next_cursor

        await _pages(page)
        if len(files) > most or len(folders) > MOST_FOLDERS:
            break
    return files[: most + 1]


async def _pages(page: Callable[[str | None], Awaitable[str | None]]) -> None:
    """Read page after page, each by the cursor that the one before gave."""
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        try:
            cursor = await page(cursor)
        except (MCPError, ValueError) as error:
            raise _failure(error) from error
        if not cursor:
            return


def _failure(error: MCPError | ValueError) -> ServerLost | ServerRefused:
    return in_our_terms(error) if isinstance(error, MCPError) else ServerRefused(str(error), gone=False)
