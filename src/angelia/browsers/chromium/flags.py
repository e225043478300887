"""What every Chromium that we start is told, behind a wall and without one."""

from angelia.browsers.chromium.program import Chromium

FLAGS = (
    *("--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--disable-default-apps", "--disable-domain-reliability", "--disable-quic", "--no-pings", "--mute-audio"),
    "--site-per-process",  # as whole browsers have it by themselves, and the shell does not
    *("--disable-gpu", "--disable-dev-shm-usage", "--disable-breakpad", "--password-store=basic"),
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Without a renderer that is kept ready for the next site: it takes 12 MB, in each conversation.
    "--disable-features=Translate,MediaRouter,SpareRendererForSitePerProcess",
    *("--window-size=1280,800", "--lang=en-US"),
)


def without_window(chromium: Chromium) -> tuple[str, ...]:
    """What has it show none."""
    return ("--hide-scrollbars", *(() if chromium.shell else ("--headless=new",)))
