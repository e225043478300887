"""Looks at web search: who would be asked, and whether each has an answer."""

from collections.abc import AsyncIterator

from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.service.app import App
from angelia.tools.web.search_providers import SearchQuery

_TRIAL = SearchQuery("Python programming language", count=1)


async def look_at_search(app: App) -> AsyncIterator[CheckResult]:
    """Each service is asked for something that every one of them knows."""
    search = app.web_search
    if not search.providers:
        yield absent("search", "nobody is configured who searches the web", search.how_to_get_one)
        return
    from angelia.tools.web.searcher import SearchFault

    for provider in search.providers:
        try:
            hits = await search.searcher.ask(provider, _TRIAL)
        except SearchFault as fault:
            yield broken("search", f"{provider.name}: {fault.why}", "The next one is asked in its place.")
            continue
        if hits:
            yield well("search", f"{provider.name} answers")
        else:
            yield broken("search", f"{provider.name} found nothing for “{_TRIAL.words}”", "See what its own page says.")
