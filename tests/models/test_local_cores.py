"""A model works on as many cores as it may: no more, or each of its threads waits for those that wait."""

from pathlib import Path

import pytest

from angelia.models.local.cores import cores


def machine(folder: Path, threads: int, *, cores: int, quota: str = "") -> Path:
    """So many threads of a processor, shared out over its cores as Linux numbers them."""
    for number in range(threads):
        topology = folder / f"devices/system/cpu/cpu{number}/topology"
        topology.mkdir(parents=True)
        (topology / "core_cpus_list").write_text(f"{number % cores},{number % cores + cores}\n")
    (folder / "fs/cgroup").mkdir(parents=True)
    if quota:
        (folder / "fs/cgroup/cpu.max").write_text(quota)
    return folder


@pytest.mark.parametrize(
    ("threads", "of", "allowed", "quota", "may"),
    [
        (4, 4, range(4), "", 4),
        (8, 4, range(8), "max 100000\n", 4),  # two threads to a core
        (8, 4, {0, 4}, "", 1),
        (8, 4, {1, 2, 6}, "", 2),
        (64, 32, range(64), "", 8),
        (64, 32, range(64), "200000 100000\n", 2),  # a container with two processors
        (4, 4, range(4), "50000 100000\n", 1),
    ],
)
def test_it_works_on_the_cores_that_it_has(
    threads: int, of: int, allowed: range | set[int], quota: str, may: int, tmp_path: Path
) -> None:
    assert cores(machine(tmp_path, threads, cores=of, quota=quota), allowed) == may


def test_where_nothing_is_said_each_processor_is_a_core(tmp_path: Path) -> None:
    assert cores(tmp_path, {0, 1, 2}) == 3
    assert 1 <= cores() <= 8
