"""A conversation on the page: said, answered, followed from the log, and asked in."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.days import DAY_MS
from angelia.core.ending import Answered
from angelia.core.ids import ConversationId, DeliveryId
from angelia.core.principal import OWNER
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, hang, say
from tests.delegation.family import by_task, delegate
from tests.web.visitor import opened, visiting

pytestmark = pytest.mark.anyio


async def test_a_message_is_answered_and_every_entry_has_its_place(tmp_path: Path) -> None:
    async with (
        ModelServer([say("It is **blue**.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        assert await page.says(conversation, "Which colour?") == {"stored": True, "new": True}
        told = await page.until(conversation, "TurnClosed")
        assert [one["seq"] for one in told] == list(range(1, len(told) + 1))
        assert next(one for one in told if one["kind"] == "UserSaid")["parts"][0]["text"] == "Which colour?"
        reply = next(one for one in told if one["kind"] == "ModelSaid")
        assert reply["nodes"] == [["p", {}, ["It is ", ["strong", {}, ["blue"]], "."]]]
        assert told[-1]["ending"] == "Answered"


async def test_who_lost_the_connection_goes_on_after_the_last_entry_they_had(tmp_path: Path) -> None:
    async with (
        ModelServer([say("One."), say("Two.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "first", "key-0001")
        whole = await page.until(conversation, "TurnClosed")
        for after in range(len(whole)):
            assert (await page.until(conversation, "TurnClosed", after))[: len(whole) - after] == whole[after:]
        await page.says(conversation, "second", "key-0002")
        fresh = await page.until(conversation, "TurnClosed", whole[-1]["seq"] + 1)
        assert [one["kind"] for one in fresh].count("ModelSaid") == 1
        listed = await page.json(f"/api/conversations/{conversation}/entries?limit=500")
        assert listed["entries"][: len(whole)] == whole
        assert listed["first"] == 0


async def test_what_a_turn_cost_is_told_apart_from_what_all_of_them_did(tmp_path: Path) -> None:
    address = e.Address("web")

    def turn(key: str, cost: int) -> list[e.AnyFact]:
        said = e.UserSaid((Text("go"),), OWNER, address, key)
        return [said, e.ModelSaid("m", (call("read").parts[0],), e.StopReason.TOOL_CALLS, e.Usage(10, 1), cost)]

    async with opened(tmp_path, "http://127.0.0.1:9") as app, visiting(app) as page:
        own = ConversationId("talk0001")
        opening = e.ConversationOpened("web", str(tmp_path), "local", OWNER)
        first = [opening, *turn("k1", -1), *turn("k2", 20_000), e.TurnClosed(Answered())]
        await app.transcript.append(own, [*first, *turn("k3", 30_000)])
        told = await page.json(f"/api/conversations/{own}")
    assert told["turn"]["spent"] == {"cost": 30_000, "tokens": 11, "unpriced": 0}
    assert told["spent"] == {"cost": 50_000, "tokens": 33, "unpriced": 1}


async def test_a_message_that_is_sent_again_is_stored_once(tmp_path: Path) -> None:
    async with (
        ModelServer([say("Yes.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        assert [(await page.says(conversation, "hello"))["new"] for _ in range(3)] == [True, False, False]
        told = await page.until(conversation, "TurnClosed")
        assert [one["kind"] for one in told].count("UserSaid") == 1
        assert len(server.requests) == 1


async def test_a_question_shows_all_that_a_yes_would_be_to_and_is_answered_once(tmp_path: Path) -> None:
    command = {"command": "touch made.txt", "reach": "outside"}
    async with (
        ModelServer([call("shell", command), say("Made.")]) as server,
        opened(tmp_path, server.base_url, **{"policy.mode": "ask"}) as app,
        visiting(app) as page,
    ):
        (tmp_path / "work").mkdir()
        conversation = str((await page.said("/api/conversations", {"folder": str(tmp_path / "work")}))["id"])
        await page.says(conversation, "make it")
        asked = (await page.until(conversation, "ApprovalAsked"))[-1]
        assert "touch made.txt" in asked["whole"] + asked["question"]
        (waiting,) = (await page.json("/api/questions"))["questions"]
        assert (await page.json("/api/waiting")) == {"questions": [waiting], "deliveries": [], "schedules": []}
        assert (waiting["conversation"], waiting["digest"]) == (conversation, asked["digest"])
        listed = (await page.json("/api/conversations"))["conversations"]
        assert [(one["id"], one["waits"]) for one in listed] == [(conversation, 1)]
        answers = f"/api/conversations/{conversation}/answers"
        stale = await page.post(answers, {"call": asked["call"], "digest": "another"})
        assert stale.status_code == 409
        assert await page.said(answers, {"call": asked["call"], "digest": asked["digest"]}) == {}
        told = await page.until(conversation, "TurnClosed")
        assert [one["by"] for one in told if one["kind"] == "ApprovalGiven"] == ["owner"]
        assert (tmp_path / "work/made.txt").exists()
        again = await page.post(answers, {"call": asked["call"], "digest": asked["digest"]})
        assert again.status_code == 409
        assert (await page.json("/api/questions"))["questions"] == []


async def test_a_yes_on_the_page_is_to_its_own_question_and_to_none_that_took_its_place(tmp_path: Path) -> None:
    """A link leads elsewhere by the time of the answer; the first question still stands in another window."""
    async with (
        ModelServer([call("write", {"path": "link/x.txt", "content": "x"}), say("Not written.")]) as server,
        opened(tmp_path, server.base_url, **{"policy.mode": "ask"}) as app,
        visiting(app) as page,
    ):
        work = tmp_path / "work"
        for name in ("first", "second"):
            (work / name).mkdir(parents=True)
        (link := work / "link").symlink_to("first")
        conversation = str((await page.said("/api/conversations", {"folder": str(work)}))["id"])
        await page.says(conversation, "make it")
        first = (await page.until(conversation, "ApprovalAsked"))[-1]
        link.unlink()
        link.symlink_to("second")
        yes = {"call": first["call"], "digest": first["digest"]}
        answers = f"/api/conversations/{conversation}/answers"
        assert await page.said(answers, yes) == {}
        second = (await page.until(conversation, "ApprovalAsked", after=first["seq"]))[-1]
        assert "second/x.txt" in str(second)
        assert (await page.post(answers, yes)).status_code == 409
        assert await page.said(answers, {"call": second["call"], "digest": second["digest"], "yes": False}) == {}
        await page.until(conversation, "TurnClosed")
    assert not [*work.rglob("x.txt")]


@pytest.mark.parametrize("wrong", [0, 400, -400], ids=["right", "a year ahead", "a year behind"])
async def test_a_yes_for_an_hour_is_one_for_an_hour_whatever_the_browsers_clock_says(
    tmp_path: Path, wrong: int
) -> None:
    async with (
        ModelServer([call("shell", {"command": "ls", "reach": "outside"}), say("Listed.")]) as server,
        opened(tmp_path, server.base_url, **{"policy.mode": "ask"}) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "list it")
        asked = (await page.until(conversation, "ApprovalAsked"))[-1]
        theirs = app.clock() + wrong * DAY_MS
        given = {"call": asked["call"], "digest": asked["digest"], "scope": "remembered", "at": theirs}
        await page.said(f"/api/conversations/{conversation}/answers", {**given, "until": theirs + 3_600_000})
        await page.until(conversation, "TurnClosed")
        (grant,) = await app.grants.list(OWNER)
        assert 3_500_000 < grant.until - grant.given_at <= 3_600_000


async def test_a_no_with_words_is_told_to_the_model(tmp_path: Path) -> None:
    async with (
        ModelServer([call("shell", {"command": "ls", "reach": "outside"}), say("Then not.")]) as server,
        opened(tmp_path, server.base_url, **{"policy.mode": "ask"}) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "list it")
        asked = (await page.until(conversation, "ApprovalAsked"))[-1]
        given = {"call": asked["call"], "digest": asked["digest"], "yes": False, "words": "Not outside."}
        await page.said(f"/api/conversations/{conversation}/answers", given)
        told = await page.until(conversation, "TurnClosed")
        assert "Not outside." in next(one for one in told if one["kind"] == "ApprovalRefused")["why"]
        assert b"Not outside." in server.requests[-1].raw


async def test_a_file_is_brought_and_had_again(tmp_path: Path) -> None:
    content = b"bed,kg\nsouth,33\n"
    async with (
        ModelServer([say("33 kg.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        sent = page.head | {"content-type": "application/octet-stream"}
        came = await page.client.post(page.address + "/api/uploads?name=../harvest.csv", headers=sent, content=content)
        assert came.status_code == 201, came.text
        upload = came.json()
        assert (upload["name"], upload["size"]) == ("harvest.csv", len(content))
        await page.says(conversation, "How much?", files=[upload["id"]])
        told = await page.until(conversation, "TurnClosed")
        said = next(one for one in told if one["kind"] == "UserSaid")
        file = next(part for part in said["parts"] if "media" in part)
        assert file["name"] == "harvest.csv"
        where = f"/api/conversations/{conversation}/media/{file['seq']}/{file['part']}"
        got = await page.get(where)
        assert got.content == content
        assert got.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in got.headers["content-security-policy"]
        for nowhere in (f"{file['seq']}/9", "0/0", "999/0", "x/y", f"{file['seq']}/full"):
            assert (await page.get(f"/api/conversations/{conversation}/media/{nowhere}")).status_code == 404


async def test_what_was_shown_has_its_receipt(tmp_path: Path) -> None:
    async with (
        ModelServer([say("Here.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "hello")
        told = await page.until(conversation, "DeliveryQueued")
        queued = told[-1]
        assert queued["to"]["door"] == "web"
        (before,) = (await page.json("/api/receipts"))["receipts"]
        assert before["status"] == "queued"
        for _ in range(2):
            await page.post(f"/api/conversations/{conversation}/shown", {"deliveries": [queued["id"], "none"]})
        (after,) = (await page.json("/api/receipts"))["receipts"]
        assert (after["status"], after["words"]) == ("sent", "Here.")
        tries = (await page.json(f"/api/receipts/{conversation}/{queued['id']}"))["tries"]
        assert [one["kind"] for one in tries] == ["DeliveryQueued", "DeliverySettled"]


async def test_a_delivery_that_failed_can_be_let_be_and_sent_again_later(tmp_path: Path) -> None:
    """It stays in the log as it went, with who let it be; what arrived cannot be let be, and a second press is none."""
    async with (
        ModelServer([say("Here."), say("Again.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "hello")
        arrived = (await page.until(conversation, "DeliveryQueued"))[-1]["id"]
        await page.post(f"/api/conversations/{conversation}/shown", {"deliveries": [arrived]})
        at, lost = f"/api/receipts/{conversation}", DeliveryId("d-lost")
        queued = e.DeliveryQueued(lost, e.Address("telegram", "4711"), (Text("Hi."),), "notice")
        settled = e.DeliverySettled(lost, e.DeliveryStatus.UNKNOWN, detail="no word after sending")
        await app.transcript.append(ConversationId(conversation), [queued, settled])
        assert (await page.json(f"{at}/{lost}"))["status"] == "unknown"
        assert [one["id"] for one in (await page.json("/api/waiting"))["deliveries"]] == [lost]
        for _ in range(2):
            pressed = await page.post(f"{at}/{lost}/let_be")
        assert "is let be" in pressed.json()["error"]["what"]
        rests = await page.json(f"{at}/{lost}")
        assert (rests["status"], rests["again"]) == ("let_be", True)
        assert (await page.json("/api/waiting"))["deliveries"] == []
        assert [(one["kind"], one.get("by")) for one in rests["tries"]][1:] == [
            ("DeliverySettled", None),
            ("DeliveryLetBe", "owner"),
        ]
        assert (await page.post(f"{at}/{arrived}/let_be")).status_code == 400
        late = e.DeliveryReached(lost, "m1", e.DeliveryReach.READ)
        await app.transcript.append(ConversationId(conversation), [late])
        assert (await page.json(f"{at}/{lost}"))["status"] == "let_be"
        again = await page.said(f"{at}/{lost}/again")
        assert (await page.json(f"{at}/{again['id']}"))["status"] == "queued"


async def test_a_command_is_answered_and_no_model_hears_of_it(tmp_path: Path) -> None:
    async with (
        ModelServer([]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        helped = await page.says(conversation, "/help")
        assert ["/stop", "end the running turn"] in helped["table"]
        wrong = await page.says(conversation, "/nonsense")
        assert "There is no command /nonsense" in str(wrong["reply"])
        assert not server.requests


async def test_what_cannot_be_answered_is_not_stored_and_says_why(tmp_path: Path) -> None:
    async with opened(tmp_path, "http://127.0.0.1:9/v1", model="nobody:none") as app, visiting(app) as page:
        conversation = await page.begun()
        came = await page.post(f"/api/conversations/{conversation}/messages", {"text": "hello", "key": "key-0001"})
        assert came.status_code == 422
        assert "nobody" in came.json()["error"]["what"]
        assert (await page.json("/api/conversations"))["conversations"] == []
        assert (await page.json(f"/api/conversations/{conversation}"))["last_seq"] == 0


async def test_the_home_tells_what_has_changed_in_it(tmp_path: Path) -> None:
    async with (
        ModelServer([say("Yes.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        async with page.hears("/api/events") as events:
            first = await anext(events)
            assert (first.name, first.data) == ("home", {"changed": []})
            await page.says(conversation, "hello")
            async for event in events:
                if event.name == "home":
                    assert event.data["changed"] == [conversation]
                    break


async def test_what_was_said_elsewhere_is_found_on_the_page(tmp_path: Path) -> None:
    async with (
        ModelServer([say("Thirty kilos.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "How heavy are the quinces?")
        await page.until(conversation, "TurnClosed")
        (hit,) = (await page.json("/api/conversations?q=quinces"))["found"]
        assert (hit["conversation"], hit["seq"]) == (conversation, 2)
        for within, count in (("door=web", 1), ("door=terminal", 0), ("folder=/elsewhere", 0)):
            found = (await page.json(f"/api/conversations?q=quinces&{within}"))["found"]
            assert len(found) == count, within
        assert (await page.json(f"/api/conversations/{conversation}"))["title"] == "How heavy are the quinces?"
        for path in ("/api/home", "/api/schedules", "/api/notes", "/api/skills", "/api/channels", "/api/servers"):
            assert (await page.get(path)).status_code == 200, path
        await app.audit.record(e.AdminAct.SETTINGS_CHANGED, OWNER, "limits.max_steps")
        (decided,) = (await page.json("/api/audit?limit=1"))["decided"]
        assert (decided["did"], decided["by"], decided["conversation"]) == (
            "settings changed: limits.max_steps",
            "owner",
            "",
        )
        usage = await page.json("/api/usage?days=2")
        assert [one["conversation"] for one in usage["conversations"]] == [conversation]
        settings = (await page.json("/api/settings"))["settings"]
        assert {"name": "model", "value": "openai-chat:test", "from": "the command line"} in settings or any(
            one["name"] == "model" for one in settings
        )


async def test_doctor_looks_at_every_part_and_tells_each_as_it_goes(tmp_path: Path) -> None:
    async with opened(tmp_path, "http://127.0.0.1:9/v1") as app, visiting(app) as page:
        async with page.hears("/api/doctor") as events:
            found = [event async for event in events]
        assert {event.data["about"] for event in found[:-1]} >= {"browser", "model"}
        assert found[-1].name == "done"
        assert found[-1].data["broken"] == sum(event.data.get("state") == "broken" for event in found)


async def test_a_setting_is_changed_in_the_file_and_its_comments_stay(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    file = tmp_path / "home/config.toml"
    file.write_text("# what one turn may cost\n[limits]\nmax_cost = 0.5  # half a dollar\n")
    file.chmod(0o600)
    async with opened(tmp_path, "http://127.0.0.1:9/v1") as app, visiting(app) as page:
        await page.said("/api/settings", {"name": "limits.max_cost", "value": "2"})
        assert file.read_text() == "# what one turn may cost\n[limits]\nmax_cost = 2  # half a dollar\n"
        rows = {one["name"]: one for one in (await page.json("/api/settings"))["settings"]}
        assert (rows["limits.max_cost"]["value"], rows["limits.max_cost"]["next"]) == (0.5, 2.0)
        assert "next" not in rows["limits.max_steps"]
        for wrong in ({"name": "limits.max_cost", "value": "much"}, {"name": "limits.nonsense", "value": "1"}):
            came = await page.post("/api/settings", wrong)
            assert came.status_code == 400, wrong
            assert came.json()["error"]["what"]
        assert "max_cost = 2 " in file.read_text()
        await page.said("/api/settings", {"name": "limits.max_cost", "value": None})
        assert "max_cost" not in file.read_text()
        rows = {one["name"]: one for one in (await page.json("/api/settings"))["settings"]}
        assert (rows["limits.max_cost"]["value"], rows["limits.max_cost"]["next"]) == (0.5, 0)
        assert "next" not in rows["model"], "which a flag gave"


async def test_a_helper_is_stopped_by_itself_and_its_end_is_told_in_its_conversation(tmp_path: Path) -> None:
    script = by_task(
        {"never done": [hang()], "Begin": [delegate("never done"), call("helper", {"action": "wait"}), say("Stopped.")]}
    )
    async with (
        ModelServer(script) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "Begin.")
        begun = (await page.until(conversation, "WorkStarted"))[-1]
        (work,) = (await page.json(f"/api/conversations/{conversation}"))["work"]
        assert (work["call"], work["child"]) == (begun["call"], begun["child"])
        while (await page.get(f"/api/conversations/{work['child']}")).status_code == 404:
            pass  # it is opened after the fact
        stop = f"/api/conversations/{conversation}/work/{work['call']}/stop"
        assert (await page.post(stop)).status_code == 200
        told = await page.until(conversation, "TurnClosed")
        assert [one["child"]["ending"] for one in told if one["kind"] == "WorkEnded"] == ["Cancelled"]
        assert told[-1]["ending"] == "Answered"
        assert (await page.post(stop)).status_code == 409


async def test_a_file_is_offered_behind_an_at_and_goes_with_the_message_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "my harvest.csv").write_text("beds,kilos\nsouth,41\n")
    (tmp_path / "work" / "shared.py").write_text("pass\n")
    (tmp_path / "outside.txt").write_text("not yours\n")
    async with ModelServer([say("41 kilos.")]) as server, opened(tmp_path, server.base_url) as app:
        async with visiting(app) as page:
            conversation = str((await page.said("/api/conversations", {"folder": str(tmp_path / "work")}))["id"])
            offered = (await page.json(f"/api/conversations/{conversation}/names?begun=my%20har"))["found"]
            assert [one["mention"] for one in offered] == ['@"my harvest.csv"']
            outside = {"text": "Read @../outside.txt.", "key": "key-0001"}
            refused = await page.post(f"/api/conversations/{conversation}/messages", outside)
            assert refused.status_code == 400
            assert "outside.txt lies outside of" in refused.text
            await page.says(conversation, f"How much is in {offered[0]['mention']}?", "key-0002")
            told = await page.until(conversation, "TurnClosed")
        async with visiting(app) as page:
            assert await page.json(f"/api/conversations/{conversation}/names?begun=my%20har") == {"found": offered}
            assert not app.conversations.sessions, "one that rests was opened for it"
    [said] = [one for one in told if one["kind"] == "UserSaid"]
    assert [part.get("name") for part in said["parts"]] == [None, "my harvest.csv"]
