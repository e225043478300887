"""Pictures and PDFs made on the spot, and what a model was given of them."""

import io
import os

from PIL import Image

from angelia.context.request import Opened, OpenedBytes, OpenedText


def picture(
    size: tuple[int, int], form: str = "PNG", *, mode: str = "RGB", noise: bool = False, exif: int = 0
) -> bytes:
    """A picture whose left half is red, or noise that no encoder makes small."""
    if noise:
        image = Image.frombytes(mode, size, os.urandom(size[0] * size[1] * len(mode)))
    else:
        image = Image.new(mode, size, "white")
        image.paste("red", (0, 0, max(1, size[0] // 2), size[1]))
    marks = Image.Exif()
    if exif:
        marks[0x0112] = exif
    out = io.BytesIO()
    image.save(out, form, **({"exif": marks} if exif else {}))
    return out.getvalue()


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page; an empty one holds nothing."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for text in pages:
        content = f"BT /F1 24 Tf 40 700 Td ({text}) Tj ET" if text else "1 0 0 rg 0 0 300 400 re f"
        objects.append(f"<</Length {len(content)}>>stream\n{content}\nendstream")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {len(objects)} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(kids)}]>>"
    body, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj{one}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def as_picture(opened: Opened) -> "Image.Image":
    assert isinstance(opened, OpenedBytes)
    return Image.open(io.BytesIO(opened.data))


def as_text(opened: Opened) -> str:
    assert isinstance(opened, OpenedText)
    return opened.text
