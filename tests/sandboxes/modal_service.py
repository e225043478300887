"""Modal's service as its SDK sees it, on loopback: the calls that our sandbox makes, strict, over real processes.

It is a program: `python -m tests.sandboxes.modal_service FOLDER` says its port, and runs until its input ends. The SDK
is the real one; what is not shown by it is how Modal's own service behaves beyond its published interface
(`modal_proto/api.proto` and `task_command_router.proto` of modal 1.6).
"""

import asyncio
import base64
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.protobuf.empty_pb2 import Empty  # it has no stubs
from grpclib import GRPCError, Status
from grpclib.events import RecvRequest, listen
from grpclib.server import Server, Stream
from modal_proto import api_pb2 as api
from modal_proto import task_command_router_pb2 as router
from modal_proto.api_grpc import ModalClientBase
from modal_proto.task_command_router_grpc import TaskCommandRouterBase

from .modal_world import KNOWN, Box, World

TOKEN_ID, TOKEN_SECRET = "ak-tests", "as-tests"
_LONGEST_LIFE = 24 * 3600
_LONGEST_ARGS = 2**16


class _Service:
    """Answers by the methods it has; every other call of the interface is not implemented."""

    def __init__(self, world: World) -> None:
        self.world, self.url = world, ""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def refuse(stream: Stream[Any, Any]) -> None:
            raise GRPCError(Status.UNIMPLEMENTED, f"{name} is not in this service")

        return refuse

    def _id(self, kind: str) -> str:
        return f"{kind}-{next(self.world.numbers):022d}X"


class Control(_Service):
    """The control plane."""

    def __mapping__(self) -> Any:
        return ModalClientBase.__mapping__(self)  # type: ignore[arg-type]  # it has what is called of it

    async def AuthTokenGet(self, stream: Stream[Any, Any]) -> None:  # noqa: N802 - the interface's name
        await stream.recv_message()
        await stream.send_message(api.AuthTokenGetResponse(token=_jwt()))

    async def AppGetOrCreate(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        await stream.send_message(api.AppGetOrCreateResponse(app_id=f"ap-{asked.app_name}"))

    async def EnvironmentGetOrCreate(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        await stream.recv_message()
        settings = api.EnvironmentSettings(image_builder_version="2025.06")
        metadata = api.EnvironmentMetadata(name="main", settings=settings)
        await stream.send_message(api.EnvironmentGetOrCreateResponse(environment_id="en-tests", metadata=metadata))

    async def ImageGetOrCreate(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = (await _asked(stream)).image
        image, done = self._id("im"), api.GenericResult(status=api.GenericResult.GENERIC_STATUS_SUCCESS)
        if asked.base_images:
            self.world.images[image] = self.world.images[asked.base_images[0].image_id]
        elif asked.dockerfile_commands[0] == f"FROM {KNOWN}":
            self.world.built(image)
        else:
            said = f"{asked.dockerfile_commands[0]}: manifest unknown"
            done = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_FAILURE, exception=said)
        await stream.send_message(
            api.ImageGetOrCreateResponse(image_id=image, result=done, metadata=api.ImageMetadata())
        )

    async def ImageFromId(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        if asked.image_id not in self.world.images:
            raise GRPCError(Status.NOT_FOUND, f"Image {asked.image_id} not found")
        await stream.send_message(api.ImageFromIdResponse(image_id=asked.image_id))

    async def ImageDelete(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        if self.world.images.pop(asked.image_id, None) is None:
            raise GRPCError(Status.NOT_FOUND, f"Image {asked.image_id} not found")
        await stream.send_message(Empty())

    async def SandboxCreateV2(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        wanted = asked.definition
        if self.world.running(wanted.name):
            raise GRPCError(Status.ALREADY_EXISTS, f"a sandbox named {wanted.name} exists")
        if wanted.timeout_secs > _LONGEST_LIFE or wanted.image_id not in self.world.images:
            raise GRPCError(Status.INVALID_ARGUMENT, "timeout too long, or no such image")
        name = self._id("sb")
        box = self.world.made(name, wanted.image_id, wanted.name, asked.app_id)
        blocked = wanted.network_access.network_access_type == api.NetworkAccess.NetworkAccessType.BLOCKED
        limits = wanted.resources
        asked = f"idle {wanted.idle_timeout_secs} s, {limits.memory_mb} to {limits.memory_mb_max} MiB, "
        asked += f"{limits.milli_cpu} to {limits.milli_cpu_max} mcpu"
        box.begin(list(wanted.entrypoint_args), network=not blocked, asked=asked)
        await stream.send_message(api.SandboxCreateV2Response(sandbox_id=name, task_id=f"ta-{name}V"))

    async def SandboxGetFromNameV2(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        name = self.world.running(asked.sandbox_name)
        if not name or self.world.boxes[name].app != f"ap-{asked.app_name}":
            raise GRPCError(Status.NOT_FOUND, f"No sandbox named {asked.sandbox_name}")
        await stream.send_message(api.SandboxGetFromNameResponse(sandbox_id=name))

    async def SandboxGetFromName(self, stream: Stream[Any, Any]) -> None:  # noqa: N802 - where the SDK looks next
        asked = await _asked(stream)
        raise GRPCError(Status.NOT_FOUND, f"No sandbox named {asked.sandbox_name}")

    async def SandboxGetTaskIdV2(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        if self._box(asked.sandbox_id).ended:
            ended = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_TERMINATED)
            await stream.send_message(api.SandboxGetTaskIdResponse(task_result=ended))
        else:
            await stream.send_message(api.SandboxGetTaskIdResponse(task_id=f"ta-{asked.sandbox_id}V"))

    async def SandboxGetCommandRouterAccess(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        await stream.recv_message()
        await stream.send_message(api.SandboxGetCommandRouterAccessResponse(url=self.url, jwt=_jwt()))

    async def SandboxTerminateV2(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        self._box(asked.sandbox_id).end()
        await stream.send_message(api.SandboxTerminateResponse())

    def _box(self, name: str) -> Box:
        if name not in self.world.boxes:
            raise GRPCError(Status.NOT_FOUND, f"No sandbox {name}")
        return self.world.boxes[name]


class Router(_Service):
    """What runs beside a sandbox: commands, their streams, snapshots."""

    def __mapping__(self) -> Any:
        return TaskCommandRouterBase.__mapping__(self)  # type: ignore[arg-type]  # it has what is called of it

    async def TaskExecStart(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        if sum(map(len, asked.command_args)) > _LONGEST_ARGS:
            raise GRPCError(Status.INVALID_ARGUMENT, "the arguments are too long")
        apart = asked.stderr_config == router.TASK_EXEC_STDERR_CONFIG_PIPE
        await self._box(asked.task_id).execute(asked.exec_id, list(asked.command_args), apart=apart)
        await stream.send_message(router.TaskExecStartResponse())

    async def TaskExecStdioRead(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        one = self._box(asked.task_id).execs[asked.exec_id]
        at = asked.file_descriptor
        output = (one.process.stdout, one.process.stderr)[at]
        assert output is not None
        assert asked.offset == one.given[at], "this service does not repeat what it has given"
        while data := await output.read(64 * 1024):
            one.given[at] += len(data)
            await stream.send_message(router.TaskExecStdioReadResponse(data=data))

    async def TaskExecStdinWrite(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        one = self._box(asked.task_id).execs[asked.exec_id]
        if not await one.take(asked.offset, asked.data, eof=asked.eof):
            raise GRPCError(Status.FAILED_PRECONDITION, "the process does not take input any more")
        await stream.send_message(router.TaskExecStdinWriteResponse())

    async def TaskExecWait(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        status = await self._box(asked.task_id, alive=False).execs[asked.exec_id].process.wait()
        await stream.send_message(
            router.TaskExecWaitResponse(code=status) if status >= 0 else router.TaskExecWaitResponse(signal=-status)
        )

    async def TaskSnapshotFilesystem(self, stream: Stream[Any, Any]) -> None:  # noqa: N802
        asked = await _asked(stream)
        image = self._id("im")
        await asyncio.to_thread(self.world.copied, image, self._box(asked.task_id).root)
        await stream.send_message(router.TaskSnapshotFilesystemResponse(image_id=image))

    def _box(self, task: str, *, alive: bool = True) -> Box:
        box = self.world.boxes.get(task.removeprefix("ta-").removesuffix("V"))
        if box is None or (alive and box.ended):
            raise GRPCError(Status.NOT_FOUND, f"No task {task}")
        return box


async def _asked(stream: Stream[Any, Any]) -> Any:
    return await stream.recv_message()


def _jwt() -> str:
    parts = ({"alg": "none"}, {"exp": int(time.time()) + 3600})
    words = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*words, "tests"])


async def _only_ours(event: RecvRequest) -> None:
    """A token, or what it was exchanged for, has to come with each call."""
    known = event.metadata.get("x-modal-token-id") == TOKEN_ID
    known = known and event.metadata.get("x-modal-token-secret") == TOKEN_SECRET
    if not known and not str(event.metadata.get("authorization", "")).startswith("Bearer "):
        raise GRPCError(Status.UNAUTHENTICATED, "Token validation failed")


async def main(folder: Path) -> None:
    """Serve until the input ends."""
    world = World(folder)
    control, commands = Control(world), Router(world)
    server = Server([control, commands])
    listen(server, RecvRequest, _only_ours)
    await server.start("127.0.0.1", 0)
    port = server._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]  # it has been started
    control.url = f"http://127.0.0.1:{port}"
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    world.end()
    server.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
