"""The HTTP client knows its proxy and its authorities, and nothing else of its surroundings."""

import ssl
from pathlib import Path

import pytest

from angelia.core.errors import ConfigError
from angelia.http.client import _trusting, http_client, proxy_for
from tests.models.loopback import Server, says

pytestmark = pytest.mark.anyio
FAR = "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        (FAR, {}, ""),
        (FAR, {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        (FAR, {"https_proxy": "http://lower:1", "HTTPS_PROXY": "http://upper:1"}, "http://lower:1"),
        (FAR, {"HTTP_PROXY": "http://p:1"}, ""),
        (FAR, {"ALL_PROXY": "socks5://p:1"}, "socks5://p:1"),
        (FAR, {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        (FAR, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "openai.com"}, ""),
        (FAR, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".openai.com, example.org"}, ""),
        (FAR, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, ""),
        (FAR, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "penai.com"}, "http://p:1"),
        ("http://box:8000/v1", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "box:8000"}, ""),
        ("http://box:8000/v1", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "box:9000"}, "http://p:1"),
        ("http://127.0.0.1:11434/v1", {"HTTP_PROXY": "http://p:1"}, ""),
        ("http://localhost:11434/v1", {"ALL_PROXY": "http://p:1"}, ""),
    ],
)
def test_which_proxy(url: str, environ: dict[str, str], proxy: str) -> None:
    assert proxy_for(url, environ) == proxy


async def test_a_proxy_really_gets_the_request(server: Server) -> None:
    server.answers = [says("200 OK", b"{}")]
    proxy = server.url.removesuffix("/v1")
    async with await http_client("http://far.example/v1", {"HTTP_PROXY": proxy}) as client:
        await client.get("models")
    assert server.requests[0].head.startswith(b"GET http://far.example/v1/models ")


async def test_the_environment_of_the_process_is_not_asked_behind_our_back(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    server.answers = [says("200 OK", b"{}")]
    async with await http_client(server.url, {}) as client:
        assert (await client.get("models")).status_code == 200


@pytest.mark.parametrize("url", ["", "api.openai.com/v1", "ftp://host/", "https://"])
async def test_a_base_url_that_is_none_is_explained(url: str) -> None:
    with pytest.raises(ConfigError, match="base URL"):
        await http_client(url, {})


@pytest.mark.parametrize("environ", [{"SSL_CERT_FILE": "/nonexistent.pem"}, {"SSL_CERT_DIR": "/nonexistent"}])
async def test_certificates_that_cannot_be_read_are_explained(environ: dict[str, str]) -> None:
    if "SSL_CERT_DIR" in environ:
        async with await http_client(FAR, environ):  # OpenSSL looks into a folder only when it needs it
            return
    with pytest.raises(ConfigError, match="SSL_CERT_FILE"):
        await http_client(FAR, environ)


async def test_a_garbled_certificate_file_is_explained(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not a certificate")
    with pytest.raises(ConfigError, match="SSL_CERT_FILE"):
        await http_client(FAR, {"SSL_CERT_FILE": str(tmp_path / "ca.pem")})


@pytest.mark.parametrize("proxy", ["gopher://p:1", "socks5://p:1"])
async def test_a_proxy_that_cannot_be_used_is_explained_without_its_password(proxy: str) -> None:
    environ = {"HTTPS_PROXY": proxy.replace("//", "//me:secret@")}
    with pytest.raises(ConfigError) as refused:
        await http_client(FAR, environ)
    assert "secret" not in str(refused.value)


def test_a_far_client_checks_certificates() -> None:
    context = _trusting({})
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()
