"""Emoji by the names that Slack has for them (github.com/iamcal/emoji-data, `short_name`): those that are used most."""

NAMES = {
    "👀": "eyes",
    "👍": "+1",
    "👎": "-1",
    "👌": "ok_hand",
    "👏": "clap",
    "🙏": "pray",
    "🙌": "raised_hands",
    "💪": "muscle",
    "👋": "wave",
    "🤝": "handshake",
    "✅": "white_check_mark",
    "☑": "ballot_box_with_check",
    "✔": "heavy_check_mark",
    "❌": "x",
    "❗": "exclamation",
    "❓": "question",
    "⚠": "warning",
    "🚫": "no_entry_sign",
    "🛑": "octagonal_sign",
    "⏳": "hourglass_flowing_sand",
    "⌛": "hourglass",
    "⏰": "alarm_clock",
    "🔥": "fire",
    "🎉": "tada",
    "🚀": "rocket",
    "💡": "bulb",
    "💯": "100",
    "⭐": "star",
    "🌟": "star2",
    "✨": "sparkles",
    "⚡": "zap",
    "❤": "heart",
    "💔": "broken_heart",
    "😀": "grinning",
    "😂": "joy",
    "🤣": "rolling_on_the_floor_laughing",
    "🙂": "slightly_smiling_face",
    "😊": "blush",
    "😉": "wink",
    "😍": "heart_eyes",
    "😎": "sunglasses",
    "🤔": "thinking_face",
    "😐": "neutral_face",
    "😢": "cry",
    "😭": "sob",
    "😱": "scream",
    "😡": "rage",
    "😴": "sleeping",
    "🤯": "exploding_head",
    "🤷": "shrug",
    "🤖": "robot_face",
    "👻": "ghost",
    "💀": "skull",
    "🐛": "bug",
    "🔧": "wrench",
    "🔒": "lock",
    "🔑": "key",
    "📌": "pushpin",
    "📎": "paperclip",
    "📝": "memo",
    "📅": "date",
    "✏": "pencil2",
    "🗑": "wastebasket",
    "☕": "coffee",
    "🍕": "pizza",
}

_SIGNS = {name: sign for sign, name in NAMES.items()} | {"thumbsup": "👍", "thumbsdown": "👎"}

_AS_PICTURE = "\ufe0f"
"""Says that a sign is to be shown in colour; Slack's names are the same without."""


def name_of(emoji: str) -> str:
    """Slack's name of an emoji, empty if it is not known here.

    >>> name_of("👍"), name_of("❤️"), name_of("🫠")
    ('+1', 'heart', '')
    """
    return NAMES.get(emoji.replace(_AS_PICTURE, ""), "")


def sign_of(name: str) -> str:
    """The emoji of a name, without the tone of its skin; a name in colons, if it is not known here.

    >>> sign_of("+1::skin-tone-2"), sign_of("party_parrot")
    ('👍', ':party_parrot:')
    """
    plain = name.partition("::")[0]
    return _SIGNS.get(plain, f":{plain}:")
