"""An environment of Harbor that is a container without compose, whose version in Debian it does not take."""

import asyncio
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult


class PlainDocker(BaseEnvironment):  # type: ignore[misc]  # Harbor is no dependency: see `.ci/apart`
    """A container of the task's image on the daemon that DOCKER_HOST names."""

    @staticmethod
    def type() -> str:
        """What it is called."""
        return "plain-docker"

    def _validate_definition(self) -> None:
        assert self.task_env_config.docker_image

    @property
    def _name(self) -> str:
        return f"harbor-{self.session_id}".lower()

    async def _docker(self, *words: str, seconds: float | None = None) -> ExecResult:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec("docker", *words, stdin=nothing, stdout=pipe, stderr=pipe)
        said, complained = await asyncio.wait_for(process.communicate(), seconds)
        told = {"stdout": said.decode(errors="replace"), "stderr": complained.decode(errors="replace")}
        return ExecResult(**told, return_code=process.returncode)

    async def start(self, force_build: bool) -> None:
        """Make it, with the folders that agents and tests write to."""
        config = self.task_env_config
        made = ["run", "-d", "--network=none", "--name", self._name, "-w", config.workdir, config.docker_image]
        begun = await self._docker(*made, "sh", "-c", "mkdir -p /logs/agent /logs/verifier /logs/artifacts; sleep 3600")
        assert begun.return_code == 0, begun.stderr

    async def stop(self, delete: bool) -> None:
        """Take it away."""
        await self._docker("rm", "-f", self._name)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Into it."""
        await self._docker("cp", str(source_path), f"{self._name}:{target_path}")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Into it."""
        await self.exec(f"mkdir -p {target_dir}")
        await self._docker("cp", f"{source_dir}/.", f"{self._name}:{target_dir}")

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Out of it."""
        await self._docker("cp", f"{self._name}:{source_path}", str(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Out of it."""
        await self._docker("cp", f"{self._name}:{source_dir}/.", str(target_dir))

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a line in it."""
        where: list[Any] = ["-w", cwd] if cwd else []
        given = [f"--env={name}={value}" for name, value in (self._merge_env(env) or {}).items()]
        return await self._docker("exec", *where, *given, self._name, "sh", "-c", command, seconds=timeout_sec)
