"""Takes a person out of a home, into one file: all that is stored by or about them, as it is stored.

A zip: `person.json`, what is kept under their name; `conversations/ID.jsonl`, those that are theirs alone, whole;
`shared/ID.jsonl`, of others' what they said and what was answered to them alone; `files/`, the bytes that these refer
to, by their SHA-256; `workspace/`, the folders of their own chats. Of secrets there are handles, and no values.
"""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.codec import to_json_line
from angelia.core.content import BlobRef
from angelia.core.entry import Entry
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import Clock, sortable_id
from angelia.core.principal import OWNER, Principal
from angelia.service.people.chat_folders import own_folder
from angelia.service.people.found import FoundPerson, find_person
from angelia.service.people.theirs import asks_about
from angelia.service.secrets.store import SecretStore
from angelia.store.log.references import blobs_in
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.store.tables.people import KnownPeople


class Exported(Struct, frozen=True):
    """What was written: how many conversations, entries and files; those files that are not there any more."""

    conversations: int
    entries: int
    files: int
    missing: tuple[str, ...]


class PersonExport(Struct, frozen=True):
    """What takes people out of one home."""

    home: Path
    db: LogStore
    transcript: Transcript
    blobs: BlobStore
    secrets: SecretStore
    clock: Clock

    async def write(self, who: Principal, to: Path) -> Exported:
        """Write all of somebody to the file `to`, which only its owner can read; it is there whole or not at all.

        Raises:
            BadInput: there is a file of that name, or it cannot be written.
            NotFound: nothing here is theirs.
            StoreDamaged, CodecError: a conversation that names them cannot be read.
        """
        people = KnownPeople(self.db)
        found, beside = await find_person(self.transcript, people, who), await people.beside(who)
        if not (found.own or found.shared or any(beside.values())):
            raise NotFound(f"Nothing here is {who}'s.", then="`angelia people` lists who is known.")
        if to.exists():
            raise BadInput(f"{to} is there already.", then="Name another file; it stays as it is.")
        unfinished = to.with_name(f".{to.name}.part-{sortable_id()}")
        try:
            unfinished.touch(mode=0o600, exist_ok=False)
            with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
                exported = await self._fill(archive, who, found, beside)
            to.hardlink_to(unfinished)  # which replaces nothing
        except OSError as error:
            raise BadInput(f"{to} cannot be written: {error.strerror or error}.") from error
        finally:
            unfinished.unlink(missing_ok=True)
        return exported

    async def _fill(
        self, archive: zipfile.ZipFile, who: Principal, found: FoundPerson, beside: Mapping[str, Any]
    ) -> Exported:
        refs, entries, chats = dict[str, BlobRef](), 0, list[dict[str, Any]]()
        doors = ChatBindings(self.db)
        for conversation in found.own:
            log = await self.transcript.entries(conversation)
            entries += self._put(archive, f"conversations/{conversation}.jsonl", log, refs)
            bindings = await doors.of_conversation(OWNER, conversation)
            chats += [{"conversation": conversation, "address": one.address} for one in bindings]
            if folder := own_folder(self.home, log):
                _put_folder(archive, folder)
        for shared in found.shared:
            log = await self.transcript.entries(shared.conversation)
            own = [
                one for one in log if one.seq in shared.theirs.all and not asks_about(one.fact, who)
            ]  # of others, too
            entries += self._put(archive, f"shared/{shared.conversation}.jsonl", own, refs) if own else 0
        missing = [sha256 for sha256 in sorted(refs) if not await self._put_file(archive, sha256)]
        handles = _handles(self.secrets) if who == OWNER else []
        told = {
            "principal": str(who),
            "exported_at": self.clock(),
            "counts": found.counts,
            "chats": chats,
            **beside,
            "secrets": handles,
            "files": [refs[sha256] for sha256 in sorted(refs)],
            "missing_files": missing,
        }
        archive.writestr("person.json", msgspec.json.format(msgspec.json.encode(told), indent=2))
        return Exported(len(found.own) + len(found.shared), entries, len(refs) - len(missing), tuple(missing))

    def _put(self, archive: zipfile.ZipFile, name: str, log: Sequence[Entry], refs: dict[str, BlobRef]) -> int:
        archive.writestr(name, b"".join(to_json_line(entry) + b"\n" for entry in log))
        refs.update((ref.sha256, ref) for entry in log for ref in blobs_in(entry.fact))
        return len(log)

    async def _put_file(self, archive: zipfile.ZipFile, sha256: str) -> bool:
        try:
            with archive.open(f"files/{sha256}", "w", force_zip64=True) as file:
                async for chunk in self.blobs.chunks(sha256):
                    file.write(chunk)
        except NotFound:
            return False
        return True


def _put_folder(archive: zipfile.ZipFile, folder: Path) -> None:
    """The files of a chat's folder; links lead elsewhere, and are left out."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = f"workspace/{folder.parent.name}/{folder.name}/{path.relative_to(folder)}"
            if name not in archive.namelist():
                archive.write(path, name)


def _handles(secrets: SecretStore) -> list[dict[str, Any]]:
    return [{"handle": handle, "kind": one.kind, "origins": one.origins} for handle, one in secrets.kept().items()]
