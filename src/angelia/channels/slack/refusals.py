"""What Slack's errors mean for us (docs.slack.dev, the "Errors" of each method, as of 2026)."""

from msgspec import Struct

from angelia.channels.failures import (
    CannotFetch,
    ChannelError,
    Later,
    MarkupRejected,
    MessageGone,
    NotSent,
    Rejected,
    Unsure,
    login_failure,
)

UNNAMED = 30.0
"""Seconds to wait where the flood control names none."""


class SlackRefusal(Struct, frozen=True):
    """An answer that is no yes: the HTTP status, Slack's `error`, the scope that is `needed`, `Retry-After`."""

    status: int = 200
    error: str = ""
    needed: str = ""
    seconds: float = UNNAMED


_LOGIN = frozenset(
    [
        "not_authed",
        "invalid_auth",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "no_permission",
        "org_login_required",
        "not_allowed_token_type",
        "team_access_not_granted",
        "two_factor_setup_required",
        "access_denied",
    ]
)
"""The token is of no use."""

_FLOOD = frozenset({"ratelimited", "rate_limited"})

_GONE = frozenset(
    [
        "message_not_found",
        "cant_update_message",
        "cant_delete_message",
        "edit_window_closed",
        "message_not_owned_by_app",
    ]
)
"""The message is not there, not ours, or too old."""

_MARKUP = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
"""What Slack makes of the markup is no message; the plain text is shorter and has none."""

_NOT_DONE = frozenset({"service_unavailable", "request_timeout", "team_added_to_org", "upgrade_required"})
"""Nothing was done."""

_HALF_DONE = frozenset({"fatal_error", "internal_error"})
"""Slack says that part of it may have been done."""

_WORDS = {
    "channel_not_found": "Slack does not find this chat, or the app is not in it.",
    "user_not_found": "Slack does not find this person.",
    "is_archived": "The channel is archived.",
    "not_in_channel": "The app is not in this channel. Somebody in it can type /invite and its name.",
    "cannot_dm_bot": "Apps cannot write to apps.",
    "messages_tab_disabled": "The app's direct messages are switched off (App Home, Messages Tab).",
    "restricted_action": "A setting of the workspace does not let the app write here.",
    "restricted_action_read_only_channel": "The channel is read-only.",
    "restricted_action_thread_only_channel": "In this channel the app may write in threads only.",
    "thread_not_found": "The thread is not there any more.",
    "msg_too_long": "The message is too long for Slack.",
    "no_text": "Slack takes no empty message.",
    "file_upload_size_restricted": "The file is larger than the workspace allows.",
    "file_uploads_disabled": "The workspace has switched file uploads off.",
    "file_uploads_except_images_disabled": "The workspace allows no uploads but pictures.",
    "file_type_not_allowed": "The workspace does not allow files of this type.",
    "storage_limit_reached": "The workspace's storage is full.",
    "message_limit_exceeded": "The workspace has reached its limit of messages.",
    "invalid_name": "Slack does not know this emoji.",
    "too_many_reactions": "The message has as many reactions as Slack allows.",
}


def told(refusal: SlackRefusal) -> ChannelError:
    """A refusal by what can be done about it."""
    error = refusal.error
    if refusal.status == 429 or error in _FLOOD:
        return Later(refusal.seconds)
    if refusal.status >= 500 or error in _NOT_DONE:
        return NotSent(f"Slack says that it failed ({error or refusal.status}).")
    if error in _HALF_DONE:
        return Unsure(f"Slack says that it failed, and that part of it may have been done ({error}).")
    if error in _LOGIN:
        return login_failed(error)
    if error in _GONE:
        return MessageGone("The message is not there any more, or cannot be changed any more.", f"It says: {error}.")
    if error in _MARKUP:
        return MarkupRejected("Slack cannot show this markup.", f"It says: {error}.")
    if error == "missing_scope":
        return Rejected(
            f"The app has not the right to do this ({refusal.needed or 'which, Slack does not say'}).",
            then="Add the scope at api.slack.com/apps (OAuth & Permissions), and install the app anew.",
        )
    return Rejected(_WORDS.get(error, f"Slack refuses this: {error or refusal.status}."))


login_failed = login_failure(
    "Slack does not let the app in.",
    "Copy the tokens anew from api.slack.com/apps: the bot's (xoxb-, OAuth & Permissions) belongs where the "
    "channel's setting `token` points to, the app's (xapp-, Basic Information, with connections:write) where "
    "`app_token` does.",
)
"""A token is of no use."""


def no_file(why: str) -> CannotFetch:
    """What was shared cannot be had."""
    return CannotFetch(
        "Slack does not give this file out.",
        why,
        "If it was not deleted, look at whether the app has the scope files:read; then send it once more.",
    )
