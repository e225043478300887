"""The manifests for several machines: valid, as closed as they say, and with settings that Angelia knows."""

import re
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from angelia.service.log_places import address_of
from angelia.service.settings.config import load
from tests.house.sources import ROOT
from tests.installing.image import HARDENED, PLACES

DEPLOY = ROOT / "deploy"
KEYS = {"PGPASSWORD": "x", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "ANGELIA_GATEWAY_TOKEN": "x"}

FLAGS = {"cap_drop": "--cap-drop", "security_opt": "--security-opt", "tmpfs": "--tmpfs", "volumes": "--volume"}
"""What a key of a compose file is called on Docker's command line."""

documents: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
compose: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def of_kind(kind: str) -> dict[str, Any]:
    """The one document of that kind."""
    (found,) = [one for one in documents if one["kind"] == kind]
    return found


@pytest.mark.parametrize("document", documents, ids=lambda one: one["kind"])
def test_kubernetes_knows_every_field_of(document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, "1.30", strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**document, "spce": {}}, "1.30", strict=True)


def test_every_container_is_an_ordinary_user_on_a_root_that_it_cannot_write() -> None:
    pod = of_kind("StatefulSet")["spec"]["template"]["spec"]
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 1000)
    assert pod["automountServiceAccountToken"] is False
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    machines = [compose["services"][name] for name in ("one", "two")]
    assert all((one["read_only"], one["cap_drop"]) == (True, ["ALL"]) for one in machines)


def test_each_machine_has_a_home_and_a_name_of_its_own() -> None:
    assert [one["metadata"]["name"] for one in of_kind("StatefulSet")["spec"]["volumeClaimTemplates"]] == ["data"]
    machines = [compose["services"][name] for name in ("one", "two")]
    assert [(one["hostname"], one["volumes"][0]) for one in machines] == [("one", "one:/data"), ("two", "two:/data")]


def test_no_secret_is_written_in_them() -> None:
    text = "".join((DEPLOY / name).read_text() for name in ("kubernetes.yaml", "compose.yaml", "garage.toml"))
    assert not re.search(r"(?i)(password|secret_key|access_key\w*|token|rpc_secret)\"?\s*[:=]\s*[\"']?[\w-]{6,}", text)


def test_its_settings_are_read_as_they_are_meant(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(of_kind("ConfigMap")["data"]["config.toml"])
    given = {name: str(value) for name, value in compose["services"]["one"]["environment"].items()}
    loaded = load(tmp_path, {**KEYS, **given})
    assert address_of(loaded) == "postgresql://angelia@log/angelia"
    assert loaded.config.blobs == "s3://angelia/files"
    port = of_kind("StatefulSet")["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"]
    assert loaded.config.gateway.listen == f"0.0.0.0:{port}"


def test_the_image_is_built_with_parts_that_there_are() -> None:
    wanted = set(compose["services"]["one"]["build"]["args"]["EXTRAS"].split(","))
    there = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    assert wanted - there == set()
    assert {"cluster", "objects", "gateway"} <= wanted


def test_the_image_is_tried_as_the_one_compose_file_of_a_home_server_runs_it() -> None:
    home = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["angelia"]
    home = {name: value for name, value in home.items() if name not in ("build", "image", "restart", "env_file")}
    assert home.pop("read_only") is True
    words = ["--read-only"]
    for name, flag in FLAGS.items():
        words += [word for value in home.pop(name) for word in (flag, value)]
    assert words == [*HARDENED, *PLACES]
    assert not home
