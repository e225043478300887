"""The settings of web search."""

from msgspec import Struct

from angelia.channels.settings import Secret


class SearchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Who is asked when the model searches the web; those that have what they need, in this `order`.

    `searxng` is the address of a server of your own, such as http://127.0.0.1:8080, and `ddgs` that of a `ddgs api`,
    such as http://127.0.0.1:4479; the others need a key. Who failed is left alone for `pause_minutes`.
    """

    order: tuple[str, ...] = ("searxng", "brave", "tavily", "exa", "ddgs")
    searxng: str = ""
    ddgs: str = ""
    brave: Secret = Secret(env="BRAVE_API_KEY")
    tavily: Secret = Secret(env="TAVILY_API_KEY")
    exa: Secret = Secret(env="EXA_API_KEY")
    pause_minutes: float = 5.0
