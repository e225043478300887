"""Looks at the page where others reach it: what stands before it, the certificate's end, and who tried to get in."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

from angelia.core.counts import counted
from angelia.core.days import DAY_MS
from angelia.core.errors import ConfigError, MissingPart
from angelia.core.moment import when
from angelia.faces.cli.checkup.check_result import CheckResult, broken, well
from angelia.faces.listener.certificate import CertificateFiles, tls_context
from angelia.faces.web.access.exposure import exposure
from angelia.faces.web.access.login_routes import LoginWays
from angelia.faces.web.door import demand_login
from angelia.service.app import App

SOON_DAYS = 14
"""A certificate that ends earlier should have been renewed: who renews by a timer does it at 30 (certbot, acme.sh)."""


async def look_at_page(app: App) -> AsyncIterator[CheckResult]:
    """Nothing is said where only this machine reaches it and nobody failed to get in."""
    ways, web = LoginWays(app.key_value, app.clock), app.loaded.config.web
    try:
        reached = exposure(web, web.listen)
        await demand_login(reached, ways)
    except ConfigError as error:
        yield broken("page", f"{error.what} {error.why}".strip(), error.then)
    else:
        if reached.origin:
            count = len(await ways.passkeys.at(reached.origin))
            known = ["a password"] if await ways.password.since() else []
            known += [counted(count, "passkey")] if count else []
            yield well("page", f"reached at {reached.origin}, by {' and '.join(known)}")
        if reached.front.certificate:
            yield _certificate(reached.front.certificate, app.clock())
    since = app.clock() - DAY_MS
    failed = [one for one in await ways.attempts.all() if one.failed and one.at >= since]
    if failed:
        count, last = sum(one.times for one in failed), failed[0]
        yield well("page: logins", f"{count} failed since yesterday, the last from {last.address} at {when(last.at)}")


def _certificate(files: CertificateFiles, now: int) -> CheckResult:
    about = "certificate"
    try:
        tls_context(files)
    except ConfigError as error:
        return broken(about, f"{error.what} {error.why}".strip(), error.then)
    try:
        from cryptography.x509 import load_pem_x509_certificate
    except ModuleNotFoundError:
        return broken(about, "its end cannot be read", MissingPart("Reading a certificate", "login").then)
    end = load_pem_x509_certificate(files.certificate.read_bytes()).not_valid_after_utc
    left = end - datetime.fromtimestamp(now / 1000, UTC)
    said = f"{files.certificate} is good until {end:%Y-%m-%d}"
    if left.total_seconds() <= 0:
        return broken(about, f"{files.certificate} was good until {end:%Y-%m-%d}", _RENEW)
    if left.days < SOON_DAYS:
        return broken(about, f"{said}, {counted(left.days, 'more day')}", _RENEW)
    return well(about, said)


_RENEW = "Renew it; the new files are taken without a restart."
