"""Files to attach, models to attach them for, and what became of them."""

import io
from pathlib import Path

from PIL import Image

from angelia.core.content import Content, Media
from angelia.core.profile import Ability, ImageLimits, Profile
from angelia.service.files.attachments import AttachedFiles
from angelia.store.media.blobs import BlobStore

SEES = Profile("v:sees", "v", "sees", "openai-chat", images=Ability.YES, documents=Ability.NO)
BLIND = Profile("v:blind", "v", "blind", "openai-chat", images=Ability.NO, documents=Ability.NO, audio=Ability.NO)
SMALL = Profile("v:small", "v", "small", "openai-chat", images=Ability.YES, image_limits=ImageLimits(long_edge=100))


def png(size: tuple[int, int] = (400, 300)) -> bytes:
    out = io.BytesIO()
    Image.effect_mandelbrot(size, (-2, -1.5, 1, 1.5), 30).save(out, "PNG")
    return out.getvalue()


def scan() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (100, 100), "red").save(out, "PDF")
    return out.getvalue()


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def medium(attached: AttachedFiles) -> Media:
    first: Content = attached.parts[0]
    assert isinstance(first, Media)
    return first


def stored(blobs: BlobStore) -> list[Path]:
    folder = blobs.path("0" * 64).parent
    return list(folder.iterdir()) if folder.exists() else []
