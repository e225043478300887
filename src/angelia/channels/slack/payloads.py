"""Slack's objects, as far as they are read here (docs.slack.dev, "Events", "Interaction payloads", "Objects")."""

from typing import Any, Literal

from msgspec import Raw, Struct


class SlackNews(Struct, frozen=True):
    """Something that Slack brings: an event (without its wrapping), a slash command, or a pressed button. `id` names
    it, the same each time it is brought; what is read from the history has none.
    """

    kind: Literal["event", "command", "action"]
    body: bytes
    id: str = ""


class SlackItem(Struct, frozen=True):
    """What a reaction is on."""

    type: str = ""
    channel: str = ""
    ts: str = ""


class SlackFile(Struct, frozen=True):
    """A file. `mode` is `tombstone` for a deleted one, `external` for a link elsewhere; `subtype` is `slack_audio` for
    a recorded clip. Of a file of another workspace nothing but the id is told.
    """

    id: str
    name: str = ""
    title: str = ""
    mimetype: str = ""
    size: int = -1
    mode: str = ""
    subtype: str = ""
    duration_ms: int = 0
    url_private: str = ""
    url_private_download: str = ""
    external_url: str = ""

    @property
    def url(self) -> str:
        """Where its bytes are; empty if that has to be asked."""
        return self.url_private_download or self.url_private


class SlackEdited(Struct, frozen=True):
    """When a message was changed."""

    ts: str = ""


class SlackAttachment(Struct, frozen=True):
    """What is shown beneath a message. `is_share` marks a message that somebody shares, `is_msg_unfurl` one whose link
    they wrote; a link to the web is unfolded into one without either.
    """

    is_share: bool = False
    is_msg_unfurl: bool = False
    text: str = ""
    fallback: str = ""
    author_name: str = ""
    files: tuple[SlackFile, ...] = ()


class SlackContent(Struct, frozen=True, kw_only=True):
    """What a message says, and who says it."""

    ts: str = ""
    user: str = ""
    bot_id: str = ""
    subtype: str = ""
    text: str = ""
    thread_ts: str = ""
    parent_user_id: str = ""
    files: tuple[SlackFile, ...] = ()
    attachments: tuple[SlackAttachment, ...] = ()
    edited: SlackEdited = SlackEdited()


class Happened(SlackContent, frozen=True, kw_only=True):
    """An event: a message (of any subtype), a mention, or a reaction."""

    type: str = ""
    channel: str = ""
    message: SlackContent = SlackContent()
    previous_message: SlackContent = SlackContent()
    deleted_ts: str = ""
    reaction: str = ""
    item: SlackItem = SlackItem()
    item_user: str = ""
    event_ts: str = ""


class Callback(Struct, frozen=True):
    """How an event is wrapped; `challenge` comes with `url_verification`, the first look at a webhook."""

    type: str
    event_id: str = ""
    event: dict[str, Any] = {}
    challenge: str = ""


class SlackCommand(Struct, frozen=True):
    """A slash command."""

    command: str
    channel_id: str
    user_id: str
    trigger_id: str
    text: str = ""
    user_name: str = ""
    response_url: str = ""


class Person(Struct, frozen=True):
    """Who pressed something."""

    id: str
    username: str = ""
    name: str = ""


class Container(Struct, frozen=True):
    """The message that a button stands on."""

    message_ts: str = ""
    channel_id: str = ""
    thread_ts: str = ""


class Action(Struct, frozen=True):
    """A button."""

    value: str = ""


class SlackInteraction(Struct, frozen=True):
    """Somebody pressed something."""

    type: str
    user: Person
    trigger_id: str = ""
    container: Container = Container()
    actions: tuple[Action, ...] = ()
    response_url: str = ""


class SlackFrame(Struct, frozen=True):
    """What comes by Socket Mode; `reason` is why a connection ends."""

    type: str
    envelope_id: str = ""
    payload: Raw = Raw(b"{}")
    reason: str = ""


class Opened(Struct, frozen=True):
    """Where Socket Mode is."""

    url: str


class Us(Struct, frozen=True):
    """Who we are."""

    user_id: str


class SlackSent(Struct, frozen=True):
    """A message of ours."""

    ts: str


class SlackDirect(Struct, frozen=True):
    """A chat with one person."""

    id: str


class DirectOpened(Struct, frozen=True):
    """The answer to opening it."""

    channel: SlackDirect


class SlackPlace(Struct, frozen=True):
    """Where a file is to be brought."""

    upload_url: str
    file_id: str


class SlackShare(Struct, frozen=True):
    """A message that a file stands in."""

    ts: str


class Shares(Struct, frozen=True):
    """The same by chat."""

    public: dict[str, tuple[SlackShare, ...]] = {}
    private: dict[str, tuple[SlackShare, ...]] = {}

    def in_chat(self, chat: str) -> str:
        """The newest message in a chat; empty if there is none yet."""
        found = (*self.public.get(chat, ()), *self.private.get(chat, ()))
        return max((one.ts for one in found), default="")


class Shared(Struct, frozen=True):
    """A file that was brought."""

    shares: Shares = Shares()


class SharedInfo(Struct, frozen=True):
    """What is told of it."""

    file: Shared


class FileInfo(Struct, frozen=True):
    """What is told of a file of somebody else's."""

    file: SlackFile


class SlackProfile(Struct, frozen=True):
    """How somebody is called."""

    display_name: str = ""
    real_name: str = ""


class SlackUser(Struct, frozen=True):
    """A person."""

    id: str
    name: str = ""
    profile: SlackProfile = SlackProfile()

    @property
    def shown(self) -> str:
        """For people to read."""
        return self.profile.display_name or self.profile.real_name or self.name or self.id


class UserInfo(Struct, frozen=True):
    """What is told of a person."""

    user: SlackUser


class Next(Struct, frozen=True):
    """Where a list goes on."""

    next_cursor: str = ""


class Page(Struct, frozen=True):
    """Part of a chat's history."""

    messages: tuple[dict[str, Any], ...] = ()
    response_metadata: Next = Next()
