"""What people can set of a channel, whatever its network."""

from typing import ClassVar, Literal

from msgspec import Struct

from angelia.core.amounts import Count


class Secret(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a token is read from: a variable, a file that only its owner can read, a command's first line, or a kept
    secret by its handle.
    """

    env: str = ""
    file: str = ""
    command: str = ""
    secret: str = ""


WHERE_KEPT = '{ file = "…" }, { env = "…" }, { command = "…" } or { secret = "HANDLE" }'
"""How a `Secret` is written in the settings."""


class SetupGuide(Struct, frozen=True):
    """How somebody gets what the network `title` needs: `steps` in order, and the `link` where they begin, empty for
    none.

    `secrets` are the settings that are asked for and kept out of sight. `write` says that the first message can be
    waited for where the channel is added: without a webhook, and without an invitation of another kind.
    """

    title: str = ""
    steps: tuple[str, ...] = ()
    link: str = ""
    secrets: tuple[str, ...] = ("token",)
    write: bool = False


class ChatSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What one chat has of its own: a sandbox preset and a model, each empty for the channel's."""

    sandbox: str = ""
    model: str = ""


class ChannelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What every channel has; a channel's own settings are a subclass.

    `kind` is the network, empty for the section's name. `allow` are the immutable ids of those who may speak, as
    members, `owners` of those who may also approve, which nobody else may; both empty means nobody. Whom `[people]`
    names is what it says there. `sandbox` and `model` are presets that its chats may choose from, the first one is the
    default; `chats` has overrides by chat id. `groups` says what is heard in a group: what is addressed to us, or
    everything. `per_person` gives each person in a group a conversation of their own. A message that waited longer than
    `stale_minutes` is asked about, 0 for never. `unsure` says what happens to a message of which nobody knows whether
    it arrived: `repeat` it with a mark, or `keep` it and say so.

    A channel that is not `enabled` keeps its settings and is not opened.

    Four are no settings: `guide` says how somebody gets what the network needs; `needed` names the settings that they
    are asked for beside secrets; `linked` says of a channel that it is a `HasLinking`, `connected` that it sends over
    the very connection that `run` holds.
    """

    guide: ClassVar[SetupGuide] = SetupGuide()
    needed: ClassVar[tuple[str, ...]] = ()
    linked: ClassVar[bool] = False
    connected: ClassVar[bool] = False
    kind: str = ""
    enabled: bool = True
    allow: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    sandbox: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    chats: dict[str, ChatSettings] = {}
    groups: Literal["addressed", "all"] = "addressed"
    per_person: bool = False
    stale_minutes: Count = 30
    unsure: Literal["repeat", "keep"] = "repeat"
    stream: bool = True
    workspace: str = ""

    @property
    def accounts(self) -> tuple[Secret | str, ...]:
        """What leads to the account there: two channels of one network that have one of these in common are one account
        under two names, and each would take the other's messages. Its `token`, if it has one; others say otherwise.
        """
        token = getattr(self, "token", None)
        return (token,) if isinstance(token, Secret) else ()
