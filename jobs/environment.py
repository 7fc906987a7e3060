"""A Flink that runs inside this process's JVM, from nothing but a virtual environment.

PyFlink's wheel carries a whole Flink, but a job in thread mode runs only when the JVM that PyFlink
starts finds this very interpreter and these very packages. What that takes is put in place here, once,
before the JVM starts: Java itself, ``PATH``, ``PYTHONPATH``, logging to a file. On a cluster
(``flink run``), where the JVM is there before Python, only the job's own settings are applied.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway

import flink_memory
from flink_memory.connectors.files import flink_path
from flink_memory.jobs.java import find_java_home

GATEWAY_PORT_VARIABLE = "PYFLINK_GATEWAY_PORT"
LOG_PROPERTIES = """\
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = File
appender.file.name = File
appender.file.type = File
appender.file.append = true
appender.file.fileName = ${sys:log.file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{ISO8601} %-5p %c{1.} - %m%n
"""


@dataclass(frozen=True, slots=True)
class EnvironmentSettings:
    """How a job is run, as far as Flink is concerned; every time is in milliseconds.

    Attributes:
        parallelism: Subtasks of the operator, at least 1.
        max_parallelism: Key groups; fixed for ever by the first savepoint.
        state_backend: ``rocksdb`` (larger than memory, incremental checkpoints) or ``hashmap`` (the heap).
        execution_mode: ``thread`` runs Python inside the JVM, ``process`` beside it.
        checkpoint_interval_ms: 0 switches checkpoints off, and with them restarts without loss.
        checkpoint_dir: Where checkpoints go; None keeps them in the JobManager's memory.
        restart_attempts: How often a failing job is started again before it gives up.
        restart_delay_ms: The pause before each of these starts.
        buffer_timeout_ms: How long a record may wait for company at the exchange.
        bundle_time_ms: How long process mode may gather records, and timers, into a bundle.
        managed_memory_mb: Memory of RocksDB on the embedded cluster, for each slot together.
        log_dir: Where the embedded cluster's log goes; a fresh temporary folder when None.
        options: Any further Flink options, applied last.
    """

    parallelism: int = 1
    max_parallelism: int = 128
    state_backend: Literal["rocksdb", "hashmap"] = "rocksdb"
    execution_mode: Literal["thread", "process"] = "thread"
    checkpoint_interval_ms: int = 10_000
    checkpoint_dir: Path | None = None
    restart_attempts: int = 3
    restart_delay_ms: int = 1_000
    buffer_timeout_ms: int = 5
    bundle_time_ms: int = 10
    managed_memory_mb: int = 256
    log_dir: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def flink_options(self) -> dict[str, str]:
        """Say these settings in Flink's own keys, those of the embedded cluster included."""
        options = {
            "parallelism.default": str(self.parallelism),
            "pipeline.max-parallelism": str(self.max_parallelism),
            "state.backend.type": self.state_backend,
            "execution.buffer-timeout.interval": f"{self.buffer_timeout_ms} ms",
            "python.execution-mode": self.execution_mode,
            "python.executable": sys.executable,
            "python.client.executable": sys.executable,
            "python.fn-execution.bundle.time": str(self.bundle_time_ms),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": str(self.restart_attempts),
            "restart-strategy.fixed-delay.delay": f"{self.restart_delay_ms} ms",
            "state.backend.rocksdb.use-bloom-filter": "true",
            "taskmanager.memory.managed.size": f"{self.managed_memory_mb} mb",
            "taskmanager.numberOfTaskSlots": str(self.parallelism),
            "taskmanager.network.memory.buffer-debloat.enabled": "true",
            "rest.bind-port": "0",
        }
        if self.checkpoint_interval_ms:
            options["execution.checkpointing.interval"] = f"{self.checkpoint_interval_ms} ms"
            options["execution.checkpointing.incremental"] = "true"
        if self.checkpoint_dir is not None:
            options["execution.checkpointing.storage"] = "filesystem"
            options["execution.checkpointing.dir"] = flink_path(self.checkpoint_dir)
        return options | dict(self.options)


def stream_environment(settings: EnvironmentSettings) -> StreamExecutionEnvironment:
    """Start the JVM if none runs yet, and make an environment with ``settings``.

    Under ``flink run`` the cluster's ``config.yaml`` decides everything but ``settings.options``.

    Raises:
        ConfigurationError: No Java that can run this Flink is on the machine.
    """
    on_cluster = GATEWAY_PORT_VARIABLE in os.environ
    if not on_cluster:
        _start_jvm(settings)
    configuration = Configuration()
    for key, value in (settings.options if on_cluster else settings.flink_options()).items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def _start_jvm(settings: EnvironmentSettings) -> None:
    """Start PyFlink's JVM under the variables it needs; does nothing when it runs already."""
    log_dir = settings.log_dir or Path(tempfile.mkdtemp(prefix="flink-memory-log-"))
    log_dir.mkdir(parents=True, exist_ok=True)
    with _environment_variables(_jvm_variables(log_dir)):
        get_gateway()


def _jvm_variables(log_dir: Path) -> dict[str, str]:
    properties = log_dir / "log4j.properties"
    properties.write_text(LOG_PROPERTIES)
    scripts = sysconfig.get_path("scripts")
    return {
        "JAVA_HOME": str(find_java_home()),
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join(import_folders()),
        "FLINK_LOG_DIR": str(log_dir),
        "FLINK_IDENT_STRING": "memory",
        "LOG4J_PROPERTIES": str(properties),
    }


def import_folders() -> list[str]:
    """The folders a second interpreter needs on its path to import what this one can.

    The standard library is left out, as the other interpreter brings its own. The folder of this
    package comes first: an editable install puts it on the path by a hook that is not passed on.
    """
    standard = Path(sysconfig.get_path("stdlib"))
    own = Path(flink_memory.__file__).absolute().parents[1]
    folders = [own, *(Path(entry).absolute() for entry in sys.path)]
    kept = [folder for folder in folders if folder.is_dir() and folder not in (standard, standard / "lib-dynload")]
    return list(dict.fromkeys(map(str, kept)))


@contextmanager
def _environment_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set ``variables`` for the processes started inside, and put the old values back."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
