"""Which numbers a setting takes: its type says so, and one that is outside of that is refused where it is read."""

from typing import Annotated

from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
"""Things, bytes, tokens, whole minutes: from 0 on. What 0 means says the setting."""
PositiveCount = Annotated[int, Meta(ge=1)]
"""The same where none at all would let nothing succeed."""
Amount = Annotated[float, Meta(ge=0)]
"""US dollars, seconds, cores: from 0 on."""
PositiveAmount = Annotated[float, Meta(gt=0)]
"""The same where 0 would let nothing succeed, such as seconds until an answer."""
Percent = Annotated[int, Meta(ge=0, le=100)]
"""Of 100."""
Port = Annotated[int, Meta(ge=0, le=65535)]
"""Of TCP; 0 for the usual one."""
