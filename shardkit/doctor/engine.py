"""The options of an engine that decide whether its workers can work: runner, addresses, versions, environment."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

EngineKind = Literal["direct", "flink", "spark", "dataflow", "prism", "portable", "other"]
FLINK_PORT = 8081  # of Flink's REST interface, if an address has none
_KINDS: dict[str, EngineKind] = {kind: kind for kind in get_args(EngineKind)}
_INSIDE_FLINK = frozenset({"[local]", "[auto]", "[collection]"})


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Engine:
    """Options of Beam for one engine, under Beam's names where no comment says another one."""

    runner: str = ""
    job_endpoint: str | None = None
    flink_master: str = "[auto]"
    flink_version: str = ""
    flink_versions: tuple[str, ...] = ()  # those that this version of Beam has job servers for
    spark_master: str = ""  # --spark_master_url
    job_server_jar: str | None = None  # --flink_job_server_jar or --spark_job_server_jar
    java: str = "java"  # --job_server_java_launcher
    environment_type: str | None = None
    environment_config: str | None = None
    installs_packages: bool = False  # --requirements_file, --extra_package or --setup_file is given
    image: str | None = None  # --sdk_container_image
    temp_location: str | None = None
    parallelism: int | None = None

    @property
    def kind(self) -> EngineKind:
        """The engine that the runner belongs to."""
        return engine_kind(self.runner)

    @property
    def is_inside_job_server(self) -> bool:
        """Whether the engine is a part of the job server that Beam starts, and ends with it."""
        return self._is_local and not self.job_endpoint

    @property
    def ends_with_driver(self) -> bool:
        """Whether a job cannot go on without the process that submits it."""
        if self.kind == "dataflow":
            return False
        return self.job_service is None or self.environment == "LOOPBACK"

    @property
    def job_service(self) -> Address | None:
        """The address of ``--job_endpoint``; None if there is none, or it is "embed"."""
        return parse_address(self.job_endpoint or "")

    @property
    def flink(self) -> Address | None:
        """The address of Flink's REST interface; None if it is unknown, or Flink runs inside the job server."""
        if self.kind not in {"flink", "portable"} or self.flink_master in _INSIDE_FLINK:
            return None
        return parse_address(self.flink_master, FLINK_PORT)

    @property
    def spark(self) -> Address | None:
        """The address of Spark's master; None if Spark runs inside the job server."""
        is_cluster = self.kind == "spark" and self.spark_master.startswith("spark://")
        return parse_address(self.spark_master) if is_cluster else None

    @property
    def addresses(self) -> dict[str, Address]:
        """Addresses that the driver connects to, by the option that names them."""
        named = {"--job_endpoint": self.job_service, "--flink_master": self.flink, "--spark_master_url": self.spark}
        return {option: address for option, address in named.items() if address is not None}

    @property
    def environment(self) -> str:
        """The type of environment that workers run in, in upper case where Beam has its own name for it."""
        if self.environment_type:
            return self.environment_type if ":" in self.environment_type else self.environment_type.upper()
        return "LOOPBACK" if self._is_local else "DOCKER"

    @property
    def _is_local(self) -> bool:
        return {"flink": self.flink is None, "spark": self.spark is None}.get(self.kind, self.kind == "prism")


def engine_kind(runner: str | None) -> EngineKind:
    """Return the engine of a runner that is named as Beam allows: FlinkRunner, flink, or the path of the class."""
    return _KINDS.get((runner or "").rpartition(".")[2].lower().removesuffix("runner"), "other")


def parse_address(text: str, default_port: int | None = None) -> Address | None:
    """Return the host and port of ``host:port``, with or without a scheme and a path; None if there is no port."""
    found = re.fullmatch(r"(?:\w+://)?(\[[^\]]+\]|[^:/\[\]]+)(?::(\d+))?(?:/.*)?", text.strip())
    if found is None or (found[2] is None and default_port is None):
        return None
    return Address(found[1].strip("[]"), int(found[2] or default_port or 0))
