"""The settings of web search."""

from msgspec import Struct

from angelia.channels.settings import Secret
from angelia.core.amounts import Amount


class SearchModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A model whose vendor searches the web, by its name there; empty for none. `key` is the vendor's, where it is not
    in the usual variable; `url` is in place of the vendor's address.
    """

    model: str = ""
    key: Secret = Secret()
    url: str = ""


class SearchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Who is asked when the model searches the web; those that have what they need, in this `order`.

    `searxng` is the address of a server of your own, such as http://127.0.0.1:8080, and `ddgs` that of a `ddgs api`,
    such as http://127.0.0.1:4479; `brave`, `tavily` and `exa` need a key. `openai`, `anthropic`, `gemini` and `xai`
    name a model that searches there, which its vendor bills beside what conversations cost. Who failed is left alone
    for `pause_minutes`.
    """

    order: tuple[str, ...] = ("searxng", "brave", "tavily", "exa", "openai", "anthropic", "gemini", "xai", "ddgs")
    searxng: str = ""
    ddgs: str = ""
    brave: Secret = Secret(env="BRAVE_API_KEY")
    tavily: Secret = Secret(env="TAVILY_API_KEY")
    exa: Secret = Secret(env="EXA_API_KEY")
    openai: SearchModel = SearchModel()
    anthropic: SearchModel = SearchModel()
    gemini: SearchModel = SearchModel()
    xai: SearchModel = SearchModel()
    pause_minutes: Amount = 5.0
