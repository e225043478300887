"""What a webhook of the Cloud API holds, as far as it is read here; fields that are missing are empty."""

from msgspec import Raw, Struct, field

from angelia.channels.whatsapp.refusals import GraphError


class WhatsAppWords(Struct, frozen=True):
    """`text`."""

    body: str = ""


class WhatsAppFile(Struct, frozen=True):
    """`image`, `audio`, `video`, `document`, `sticker`."""

    id: str = ""
    mime_type: str = ""
    caption: str = ""
    filename: str = ""
    voice: bool = False


class WhatsAppPlace(Struct, frozen=True):
    """`location`."""

    latitude: float
    longitude: float
    name: str = ""
    address: str = ""


class Name(Struct, frozen=True):
    """A contact's name."""

    formatted_name: str = ""


class Phone(Struct, frozen=True):
    """A contact's number."""

    phone: str = ""
    wa_id: str = ""


class Card(Struct, frozen=True):
    """One of `contacts`."""

    name: Name = Name()
    phones: tuple[Phone, ...] = ()


class WhatsAppReply(Struct, frozen=True):
    """What of ours was pressed."""

    id: str = ""
    title: str = ""


class Interactive(Struct, frozen=True):
    """`interactive`."""

    button_reply: WhatsAppReply | None = None
    list_reply: WhatsAppReply | None = None


class TemplateButton(Struct, frozen=True):
    """`button`: of a template."""

    text: str = ""


class WhatsAppReaction(Struct, frozen=True):
    """`reaction`; without an emoji it was taken back."""

    message_id: str = ""
    emoji: str = ""


class WhatsAppContext(Struct, frozen=True):
    """What a message answers. `from_` is who wrote that. The other two say that it is forwarded, once or many times."""

    id: str = ""
    from_: str = field(default="", name="from")
    forwarded: bool = False
    frequently_forwarded: bool = False


class Revoked(Struct, frozen=True):
    """`revoke`."""

    original_message_id: str = ""


class WhatsAppEdited(Struct, frozen=True):
    """`edit`: the message as it is now."""

    original_message_id: str
    message: "WhatsAppContent"


class WhatsAppContent(Struct, frozen=True, kw_only=True):
    """What a message is made of."""

    type: str = ""
    text: WhatsAppWords | None = None
    image: WhatsAppFile | None = None
    audio: WhatsAppFile | None = None
    video: WhatsAppFile | None = None
    document: WhatsAppFile | None = None
    sticker: WhatsAppFile | None = None
    location: WhatsAppPlace | None = None
    contacts: tuple[Card, ...] = ()
    interactive: Interactive | None = None
    button: TemplateButton | None = None


class WhatsAppMessage(WhatsAppContent, frozen=True, kw_only=True):
    """Something that somebody did. `from_` is their number, empty for those who hide it behind a name; then
    `from_user_id` knows them.
    """

    id: str
    timestamp: int | str = 0
    from_: str = field(default="", name="from")
    from_user_id: str = ""
    group_id: str = ""
    context: WhatsAppContext = WhatsAppContext()
    reaction: WhatsAppReaction | None = None
    edit: WhatsAppEdited | None = None
    revoke: Revoked | None = None


class WhatsAppProfile(Struct, frozen=True):
    """How somebody calls themselves."""

    name: str = ""


class WhatsAppContact(Struct, frozen=True):
    """Who writes."""

    wa_id: str = ""
    user_id: str = ""
    profile: WhatsAppProfile = WhatsAppProfile()


class Status(Struct, frozen=True):
    """What became of a message of ours."""

    id: str
    status: str
    timestamp: int | str = 0
    recipient_id: str = ""
    errors: tuple[GraphError, ...] = ()


class Metadata(Struct, frozen=True):
    """Which number of ours it is about."""

    phone_number_id: str = ""
    display_phone_number: str = ""


class Value(Struct, frozen=True):
    """A change. What is in it is read one by one, so that one of a new kind spoils no other."""

    metadata: Metadata = Metadata()
    contacts: tuple[Raw, ...] = ()
    messages: tuple[Raw, ...] = ()
    statuses: tuple[Raw, ...] = ()


class Change(Struct, frozen=True):
    """`field` says what it is about."""

    field: str
    value: Raw


class WhatsAppEntry(Struct, frozen=True):
    """What happened at one business account."""

    changes: tuple[Change, ...] = ()


class Notification(Struct, frozen=True):
    """The body of one webhook request."""

    entry: tuple[WhatsAppEntry, ...] = ()


class Bare(Struct, frozen=True):
    """What is left of a message that cannot be read: who sent it, and its id if it has one."""

    id: str = ""
    from_: str = field(default="", name="from")
    from_user_id: str = ""
    group_id: str = ""
    timestamp: int | str = 0
