"""SeaweedFS, a store of objects that others run for real, as one process with a port for S3; it looks at signatures."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from angelia.core.errors import StoreUnreachable
from angelia.store.objects.s3 import S3Objects, S3Patience
from tests.objects.s3_server import BUCKET, credentials
from tests.ports import free_port

PROGRAM = Path(__file__).parents[2] / ".tools" / "seaweedfs" / "bin" / "weed"
"""Where `.ci/apart seaweedfs` puts it."""
_SERVICES = ("master", "volume", "filer", "s3")
_PATIENCE_S = 60.0


class SeaweedFS:
    """One that keeps its bytes in a folder, and is reached at `port` while it runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = {name: (free_port(), free_port()) for name in _SERVICES}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = self._ports["s3"][0]
        self._keys = credentials(self.port)
        keys = {"accessKey": self._keys["AWS_ACCESS_KEY_ID"], "secretKey": self._keys["AWS_SECRET_ACCESS_KEY"]}
        identity = {"name": "angelia", "credentials": [keys], "actions": ["Admin", "Read", "Write", "List"]}
        (folder / "keys.json").write_text(json.dumps({"identities": [identity]}))

    def start(self) -> None:
        """Start it, as after a crash; returns when it has the bucket `BUCKET`, and what lies there is found."""
        where = ("-dir", str(self._folder), "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1", "-master.telemetry=false")
        ports = [
            option
            for name, (http, grpc) in self._ports.items()
            for option in (f"-{name}.port={http}", f"-{name}.port.grpc={grpc}")
        ]
        small = ("-master.volumeSizeLimitMB=64", "-volume.max=20", "-s3.port.iceberg=0", "-s3.port.lance=0")
        s3 = ("-filer", "-s3", f"-s3.config={self._folder}/keys.json", f"-s3.localSocket={self._folder}/s3.sock")
        argv = [str(PROGRAM), "server", *where, *ports, *small, *s3, f"-filer.localSocket={self._folder}/filer.sock"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=self._folder)
        probe = S3Objects(f"s3://{BUCKET}", self._keys, S3Patience(1.0, 5.0, 5.0, 1))
        until = time.monotonic() + _PATIENCE_S
        while True:  # it takes requests some time before it can do what they ask for
            try:
                probe.replace("probe", b"x")  # makes the bucket, too
                return
            except StoreUnreachable:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.05)
                if self._process.poll() is not None or time.monotonic() > until:
                    raise

    def kill(self) -> None:
        """End it without a word to anybody."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()


@contextmanager
def seaweedfs_server(folder: Path) -> Iterator[SeaweedFS]:
    """Start one, and stop it at the end."""
    server = SeaweedFS(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
