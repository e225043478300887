"""A strict painter behind real HTTP on loopback: OpenAI's and xAI's Images; a field it does not know it refuses."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from angelia.testing.model.http1 import Answering, HttpRequest
from angelia.testing.model.received import ReceivedMedia
from angelia.testing.painters.painter_server import PainterServer, form_parts

MOST_PICTURES = {"openai": 16, "xai": 3}
_FIELDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("openai", "generations"): frozenset({"model", "prompt", "n", "size", "background", "output_format"}),
    ("openai", "edits"): frozenset({"model", "prompt", "n", "size", "background", "output_format", "image[]", "mask"}),
    ("xai", "generations"): frozenset({"model", "prompt", "n", "response_format", "aspect_ratio"}),
    ("xai", "edits"): frozenset({"model", "prompt", "n", "response_format", "aspect_ratio", "image", "images"}),
}
"""OpenAI reference, "Create image", "Create image edit", as far as it is used; docs.x.ai, "Image Generation"."""

PRICE_TICKS = 200_000_000
"""What xAI's fake takes for a picture: two US cents."""


class ReceivedPaint(Struct, frozen=True):
    """One request: its fields as they came (text in a form, JSON otherwise), the pictures given, the mask if any."""

    path: str
    fields: Mapping[str, Any]
    pictures: tuple[ReceivedMedia, ...]
    masks: tuple[ReceivedMedia, ...]
    key: str
    raw: bytes


class MadePictures(Struct, frozen=True):
    """They are painted: `data` in the reply, or at `urls`, one for each."""

    data: tuple[bytes, ...] = ()
    urls: tuple[str, ...] = ()
    revised_prompt: str = ""


class PaintRefusal(Struct, frozen=True):
    """An answer in the shape of OpenAI's errors; `retry_after` is seconds, 0 for none."""

    status: int
    said: str
    code: str = ""
    retry_after: int = 0


class RawAnswer(Struct, frozen=True):
    """Any bytes, as any server may send them; cut in the middle if `cut`."""

    status: int
    body: bytes
    mime: str = "application/json"
    cut: bool = False


PaintAnswer = MadePictures | PaintRefusal | RawAnswer
Answer = Callable[[ReceivedPaint], PaintAnswer]


class ImagesServer(PainterServer):
    """A server for the length of an `async with`; what `paint` says to each request that is legal is its answer.

    >>> async def example() -> None:
    ...     async with ImagesServer(lambda request: MadePictures((b"...",))) as brush:
    ...         print(brush.base_url)  # http://127.0.0.1:40001/v1
    """

    def __init__(self, paint: Answer, dialect: Literal["openai", "xai"] = "openai") -> None:
        self.paint, self.dialect = paint, dialect
        self.requests: list[ReceivedPaint] = []
        self.replies: list[bytes] = []
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []

    @property
    def base_url(self) -> str:
        """As OpenAI's base URL is written."""
        return f"{self.url}/v1"

    async def answer(self, given: HttpRequest, out: Answering) -> None:
        """See `PainterServer`."""
        if given.method == "GET":
            self.fetched.append(given.path)
            known = given.path in self.files
            data = self.files.get(given.path, b"gone")
            await out.whole(200 if known else 404, data, mime="image/png" if known else "text/plain")
            return
        received, complaint = self._read(given)
        said: PaintAnswer = PaintRefusal(400, complaint, "invalid_request_error")
        if not complaint:
            self.requests.append(received)
            said = self.paint(received)
        match said:
            case PaintRefusal():
                wait = {"retry_after": str(said.retry_after)} if said.retry_after else {}
                body = {"error": {"message": said.said, "type": "image_generation_user_error", "code": said.code}}
                await out.whole(said.status, msgspec.json.encode(body), **wait)
            case RawAnswer(cut=True):
                await out.head(said.status, said.mime, length=len(said.body) * 2)
                await out.raw(said.body)
                out.reset()
            case RawAnswer():
                await out.whole(said.status, said.body, mime=said.mime)
            case MadePictures():
                self.replies.append(self._reply(said))
                await out.whole(200, self.replies[-1])

    def _reply(self, made: MadePictures) -> bytes:
        revised = {"revised_prompt": made.revised_prompt} if made.revised_prompt else {}
        data: list[dict[str, str]] = [{"b64_json": b64encode(one).decode(), **revised} for one in made.data]
        data += [{"url": url, **revised} for url in made.urls]
        if self.dialect == "xai":
            for one in data:
                if "b64_json" in one:
                    one["b64_json"] = f"data:image/png;base64,{one['b64_json']}"
            return msgspec.json.encode({"data": data, "usage": {"cost_in_usd_ticks": PRICE_TICKS * len(data)}})
        usage = {
            "input_tokens": 20,
            "input_tokens_details": {"image_tokens": 0, "text_tokens": 20},
            "output_tokens": 1000 * len(data),
            "output_tokens_details": {"image_tokens": 1000 * len(data), "text_tokens": 0},
            "total_tokens": 20 + 1000 * len(data),
        }
        return msgspec.json.encode({"created": 1_790_000_000, "data": data, "output_format": "png", "usage": usage})

    def _read(self, given: HttpRequest) -> tuple[ReceivedPaint, str]:
        """The request, and what this server has against it."""
        route = given.path.removeprefix("/v1/images/")
        form = given.headers.get("content-type", "").startswith("multipart/form-data")
        parts = form_parts(given) if form else []
        fields: dict[str, Any] = {name: data.decode() for name, media, data in parts if media is None}
        pictures = [media for name, media, _ in parts if media and name in ("image[]", "image")]
        masks = tuple(media for name, media, _ in parts if media and name == "mask")
        if not form:
            fields = msgspec.json.decode(given.body)
            linked = [fields[name] for name in ("image",) if name in fields] + list(fields.get("images", ()))
            pictures = [_linked(one) for one in linked]
        key = given.headers.get("authorization", "").removeprefix("Bearer ")
        received = ReceivedPaint(given.path, fields, tuple(pictures), masks, key, given.body)
        names = {*fields, *(name for name, media, _ in parts if media)}
        return received, self._complaint(route, form, names, received)

    def _complaint(self, route: str, form: bool, names: set[str], received: ReceivedPaint) -> str:
        known = _FIELDS.get((self.dialect, route))
        if known is None:
            return f"Invalid URL (POST {received.path})"
        if form != (self.dialect == "openai" and route == "edits"):
            return "Invalid Content-Type"
        if unknown := names - known:
            return f"Unknown parameter: '{min(unknown)}'."
        if not received.fields.get("prompt") or not received.fields.get("model"):
            return "Missing required parameter: 'prompt' or 'model'."
        if not 1 <= int(received.fields.get("n", 1)) <= 10:
            return "Invalid 'n': must be between 1 and 10."
        if (route == "edits") != bool(received.pictures) or len(received.pictures) > MOST_PICTURES[self.dialect]:
            return f"{len(received.pictures)} images were given."
        return ""


def _linked(image: Mapping[str, str]) -> ReceivedMedia:
    kind, _, data = image["url"].removeprefix("data:").partition(";base64,")
    return ReceivedMedia(kind, b64decode(data), image["type"])
