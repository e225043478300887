"""What Discord's error codes mean for us (docs.discord.com, "Opcodes and Status Codes", "JSON Error Codes")."""

from msgspec import Struct

from angelia.channels.failures import CannotFetch, ChannelError, Later, MessageGone, NotSent, Rejected, login_failure

UNNAMED = 5.0
"""Seconds to wait where the flood control names none."""


class DiscordRefusal(Struct, frozen=True):
    """A request that was refused: HTTP status, Discord's code, and its words, those of `errors` included."""

    status: int
    code: int = 0
    message: str = ""
    retry_after: float = 0.0


class _Row(Struct, frozen=True):
    kind: type[ChannelError]
    what: str
    why: str = ""
    then: str = ""


_GONE = _Row(MessageGone, "The message is not there any more, or cannot be changed any more.")
_NO_RIGHT = "Give its role the right in the server's or channel's settings."

_ROWS = {
    10003: _Row(Rejected, "Discord does not find this chat.", "It was deleted, or the bot is not a member any more."),
    10008: _GONE,
    50005: _GONE,
    50021: _GONE,
    10014: _Row(Rejected, "Discord does not know this emoji."),
    40005: _Row(Rejected, "The file is larger than Discord takes here.", then="Ask for a smaller file, or for a link."),
    50001: _Row(Rejected, "The bot may not see this chat.", then=_NO_RIGHT),
    50006: _Row(Rejected, "Discord takes no empty message."),
    50007: _Row(
        Rejected,
        "Discord does not let the bot write to this person.",
        "They closed their direct messages, blocked the bot, or share no server with it.",
        "They can allow direct messages in a server that they share with it.",
    ),
    50013: _Row(Rejected, "The bot may not do this here.", then=_NO_RIGHT),
    50083: _Row(Rejected, "The thread is archived and locked.", then="Somebody who may can open it again."),
    50173: _Row(Rejected, "Voice messages are not allowed in this chat."),
    90001: _Row(Rejected, "The person has blocked the bot.", then="They can unblock it in Discord."),
}
"""By Discord's code."""


def told(refusal: DiscordRefusal) -> ChannelError:
    """A refusal by what can be done about it."""
    if refusal.status == 429:
        return Later(refusal.retry_after or UNNAMED)
    if refusal.status == 401:
        return login_failed(refusal.message or "401: Unauthorized")
    if refusal.status >= 500:
        return NotSent(f"Discord says that it failed ({refusal.status} {refusal.message}).".replace(" )", ")"))
    if row := _ROWS.get(refusal.code):
        return row.kind(row.what, row.why, row.then)
    if refusal.status == 413:
        row = _ROWS[40005]
        return row.kind(row.what, row.why, row.then)
    return Rejected(f"Discord refuses this: {refusal.message or refusal.status}.")


login_failed = login_failure(
    "Discord does not let the bot in.",
    "Reset the bot's token in the Developer Portal (Bot, Reset Token), and put it where the channel's setting "
    "`token` points to.",
)
"""The bot's token is of no use."""


def no_file() -> CannotFetch:
    """What was attached is gone."""
    return CannotFetch("Discord does not have this file any more.", then="Send it once more.")
