"""What one key or the owner did is found by no route as another key: a canary of each, and Ben who looks."""

from itertools import product
from pathlib import Path

import pytest
from tests.web.v1.programs import Programs, served

from angelia.core.principal import OWNER, Principal
from angelia.faces.web.api_keys import KeyScope
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.testing.model.steps import call, say

pytestmark = pytest.mark.anyio

CANARY = "canary"
STEPS = [
    call("write", {"path": f"{CANARY}.txt", "content": f"The word is {CANARY}."}),
    call("send_file", {"path": f"{CANARY}.txt"}),
    say(f"It is in {CANARY}.txt."),
    say(f"Yours is {CANARY}, too."),
]
ANN = Principal("key", "ann")


async def asks(programs: Programs, key: str, method: str, path: str, body: object = None) -> str:
    """What is answered to a program, whatever the status."""
    client, head = programs.page.client, {"authorization": f"Bearer {key}"}
    return (await client.request(method, programs.page.address + path, json=body, headers=head)).text


async def furnished(programs: Programs, key: str) -> set[str]:
    """The ids of all that Ann's program and the owner have, in every form that a route takes."""
    async with programs.openai(key) as client:
        said = await client.responses.create(model="angelia", input=f"Write {CANARY} down.")
    own = await programs.page.begun()
    await programs.page.says(own, f"Mine is {CANARY}.")
    await programs.page.until(own, "TurnClosed")
    ids = {said.id, said.id.replace("resp_", "chatcmpl_")}
    for one in await programs.app.transcript.conversations(OWNER):
        entries = await programs.app.transcript.entries(one.id)
        places = [f"{one.id}_{entry.seq}" for entry in entries]
        ids |= {one.id, *(f"{form}_{place}" for form, place in product(("resp", "chatcmpl"), places))}
        ids |= {f"file_{place}_0" for place in places}
    return ids


async def test_no_route_shows_a_key_what_is_anothers_or_the_owners(tmp_path: Path) -> None:
    async with served(tmp_path, STEPS) as (programs, model):
        ann, ben = await programs.key("ann"), await programs.key("ben", KeyScope.ADMIN)
        ids = await furnished(programs, ann)
        programs.page.client.cookies.clear()
        routes = [one for one in programs.page.door.server.routes.all if one.guard is not RouteGuard.NONE]
        shown = dict[str, set[str]]()
        for route in (one for one in routes if one.method == "GET"):
            named = ids if route.path.startswith("/v1/") else {one for one in ids if "_" not in one}
            paths = {route.path.replace("{id}", one).replace("{conversation}", one) for one in named}
            for path in paths:
                if CANARY in await asks(programs, ben, "GET", path):
                    shown.setdefault("ben", set()).add(path)
                if CANARY in await asks(programs, ann, "GET", path):
                    shown.setdefault("ann", set()).add(route.path)
        assert set(shown) == {"ann"}
        assert shown["ann"] == {
            "/v1/responses/{id}",
            "/v1/chat/completions/{id}",
            "/v1/files/{id}",
            "/v1/files/{id}/content",
        }
        assert len(model.requests) == len(STEPS)


@pytest.mark.parametrize("form", ["previous_response_id", "conversation", "cancel"])
async def test_nobody_goes_on_in_or_stops_what_another_key_began(tmp_path: Path, form: str) -> None:
    async with served(tmp_path, STEPS) as (programs, model):
        ben = await programs.key("ben", KeyScope.ADMIN)
        async with programs.openai(await programs.key("ann")) as client:
            said = await client.responses.create(model="angelia", input="Write it down.")
        [conversation] = await programs.app.transcript.conversations(ANN)
        before = await programs.app.transcript.entries(conversation.id)
        path = f"/v1/responses/{said.id}/cancel" if form == "cancel" else "/v1/responses"
        given = said.id if form == "previous_response_id" else f"conv_{conversation.id}"
        body = {} if form == "cancel" else {"model": "angelia", "input": "What was it?", form: given}
        told = await asks(programs, ben, "POST", path, body)
        assert '"error"' in told
        assert CANARY not in told
        assert await programs.app.transcript.entries(conversation.id) == before
        assert await programs.app.transcript.conversations(Principal("key", "ben")) == []
        assert len(model.requests) == 3
