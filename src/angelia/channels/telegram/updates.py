"""One update as it came, read; what it holds of a kind that nobody here knows is named, so that it is never dropped."""

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import fields, replace

from angelia.channels.telegram.payloads import TelegramMessage, Update

SERVICE = frozenset(
    {
        "new_chat_members",
        "left_chat_member",
        "new_chat_title",
        "new_chat_photo",
        "delete_chat_photo",
        "group_chat_created",
        "supergroup_chat_created",
        "channel_chat_created",
        "message_auto_delete_timer_changed",
        "migrate_to_chat_id",
        "migrate_from_chat_id",
        "pinned_message",
        "users_shared",
        "chat_shared",
        "successful_payment",
        "refunded_payment",
        "connected_website",
        "write_access_allowed",
        "passport_data",
        "proximity_alert_triggered",
        "boost_added",
        "chat_background_set",
        "checklist_tasks_done",
        "checklist_tasks_added",
        "direct_message_price_changed",
        "forum_topic_created",
        "forum_topic_edited",
        "forum_topic_closed",
        "forum_topic_reopened",
        "general_forum_topic_hidden",
        "general_forum_topic_unhidden",
        "giveaway_created",
        "paid_message_price_changed",
        "suggested_post_approved",
        "suggested_post_approval_failed",
        "suggested_post_declined",
        "suggested_post_paid",
        "suggested_post_refunded",
        "video_chat_scheduled",
        "video_chat_started",
        "video_chat_ended",
        "video_chat_participants_invited",
        "web_app_data",
    }
)
"""Fields of a `Message` that tell what happened to a chat: nobody says them to anybody (Bot API, "Message")."""

AROUND = frozenset(
    {
        "direct_messages_topic",
        "sender_boost_count",
        "sender_business_bot",
        "sender_tag",
        "business_connection_id",
        "is_automatic_forward",
        "external_reply",
        "reply_to_story",
        "reply_to_checklist_task_id",
        "has_protected_content",
        "is_from_offline",
        "is_paid_post",
        "author_signature",
        "paid_star_count",
        "link_preview_options",
        "suggested_post_info",
        "effect_id",
        "show_caption_above_media",
        "has_media_spoiler",
        "reply_markup",
        "guest_bot_caller_user",
        "guest_bot_caller_chat",
        "guest_query_id",
    }
)
"""Fields that say something of a message whose content is another field."""

_READ = frozenset(field.encode_name for field in fields(TelegramMessage))


class _Fields(Struct, frozen=True):
    message: dict[str, Raw] = {}
    edited_message: dict[str, Raw] = {}


def read_update(raw: bytes) -> Update:
    """An update of which every message says by `unknown` what of it is not read.

    Raises:
        msgspec.MsgspecError: it cannot be read.
    """
    update, given = msgspec.json.decode(raw, type=Update), msgspec.json.decode(raw, type=_Fields)
    return replace(
        update,
        message=_with_unknown(update.message, given.message),
        edited_message=_with_unknown(update.edited_message, given.edited_message),
    )


def _with_unknown(message: TelegramMessage | None, given: dict[str, Raw]) -> TelegramMessage | None:
    if message is None or SERVICE & given.keys():
        return message
    unknown = sorted(given.keys() - _READ - AROUND)
    return replace(message, unknown=unknown[0].replace("_", " ")) if unknown else message
