"""What a network can do is told to the model in a few lines, the same for the same table."""

from angelia.channels.capabilities import FILES, As, Capabilities, IncomingKind, Kind, NativeMethod, Never, Units, Way
from angelia.channels.describe_channel import channel_description

MB = 1_000_000


def table() -> Capabilities:
    """A network with most files, no animations of its own and no voice."""
    ways: dict[Kind, Way] = {kind: NativeMethod("send") for kind in Kind}
    ways |= {kind: NativeMethod("send", 16 * MB) for kind in (Kind.AUDIO, Kind.VIDEO)}
    ways[Kind.PHOTO] = NativeMethod("photo", 5 * MB)
    ways[Kind.ANIMATION] = As(Kind.VIDEO, "it has no animations")
    ways[Kind.VOICE] = Never("it has no voice messages")
    ways[Kind.EDIT] = Never("what is sent is sent")
    return Capabilities(ways, {heard: NativeMethod("in") for heard in IncomingKind}, text_limit=4096, units=Units.UTF16)


def test_kinds_limits_detours_and_the_convention_are_told() -> None:
    lines = channel_description("pigeon", table()).splitlines()
    assert lines[0] == "This conversation is now reached in the chat network “pigeon”."
    assert "4,096 characters" in lines[1]
    assert lines[2] == "Files it takes: photo up to 5 MB; audio and video up to 16 MB; document of any size."
    assert lines[3] == "Not natively: animation goes as video (it has no animations)."
    assert lines[4] == "Never: voice (it has no voice messages)."
    assert lines[5].startswith("To send a file with an answer, name it in a line of its own: MEDIA:/path")
    assert len(lines) == 6


def test_what_is_not_a_models_business_is_not_told() -> None:
    assert "what is sent is sent" not in channel_description("pigeon", table())


def test_the_same_table_is_told_in_the_same_bytes_and_another_one_is_not() -> None:
    assert channel_description("pigeon", table()) == channel_description("pigeon", table())
    table_without = table()
    ways = {**table_without.ways, **dict.fromkeys(FILES, Never("no files"))}
    bare = Capabilities(ways, table_without.hears, text_limit=400, units=Units.BYTES)
    assert "Files it takes: none." in channel_description("pigeon", bare)
    assert "400 bytes" in channel_description("pigeon", bare)
