"""What can be set of a Slack channel, and how long it waits."""

from typing import ClassVar, Literal

from msgspec import Struct

from angelia.channels.settings import ChannelSettings, Secret, SetupGuide


class SlackSettings(ChannelSettings, frozen=True, forbid_unknown_fields=True):
    """`token` is the bot's (`xoxb-`). With the `transport` `socket` we connect to Slack, which takes `app_token`
    (`xapp-`); with `http` Slack comes to the gateway's web port, and signs what it brings with `signing_secret`.

    `command` is the app's slash command: its words are a verb of ours, `/angelia status`, or else something said. Any
    other slash command of the app is taken as the verb of its own name. `api` is Slack's Web API.
    """

    guide: ClassVar[SetupGuide] = SetupGuide(
        "Slack",
        (
            "Create New App, From a manifest: `angelia docs slack` has one to paste.",
            "Install to Workspace. OAuth & Permissions then shows the bot's token, xoxb-…",
            "Under Basic Information, App-Level Tokens, generate one with the scope connections:write: xapp-…",
        ),
        "https://api.slack.com/apps",
        ("token", "app_token"),
        write=True,
    )
    token: Secret = Secret(env="SLACK_BOT_TOKEN")
    app_token: Secret = Secret(env="SLACK_APP_TOKEN")
    signing_secret: Secret = Secret(env="SLACK_SIGNING_SECRET")
    transport: Literal["socket", "http"] = "socket"
    command: str = "/angelia"
    api: str = "https://slack.com/api"

    @property
    def accounts(self) -> tuple[Secret | str, ...]:
        """The bot; over a socket the app as well, each of whose connections is given some of all that it hears."""
        return (self.token, self.app_token) if self.transport == "socket" else (self.token,)


class SlackWaits(Struct, frozen=True):
    """Seconds: for the next byte of the `answer` to a send, and of a `step` that nobody sees; in `silence` until the
    connection is taken for dead, and between two looks (`look`) at whether Slack is there where it has none (together
    under 90); as a `pause` between two tries; until a file that was taken is `shown` in its chat; and for which a
    `visit` of Slack's may take (it gives three), after which it brings the same again.
    """

    answer: float = 60.0
    step: float = 60.0
    silence: float = 45.0
    look: float = 30.0
    pause: float = 1.0
    shown: float = 60.0
    visit: float = 2.5
