"""A real PostgreSQL server of its own on loopback, from Debian's packages (`apt-get install postgresql`)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "not-to-be-shown"


@dataclass(frozen=True)
class Server:
    """A running server; `binaries` is the folder of its programs."""

    binaries: Path
    data: Path
    port: int

    def url(self, database: str = "postgres") -> str:
        return f"postgresql+psycopg://postgres:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def control(self, *arguments: str) -> None:
        log = self.data / "server.log"
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.data}"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-l", str(log), "-o", options, *arguments)

    def run(self, program: str, *arguments: str) -> None:
        as_postgres(str(self.binaries / program), *arguments)

    def new_database(self, name: str) -> str:
        """An empty database; returns its URL."""
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        at = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres")
        subprocess.run([self.binaries / "createdb", *at, name], check=True, env=environment)
        return self.url(name)


def as_postgres(*command: str) -> None:
    # The server refuses to run as root.
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    # A started server keeps the pipes of whoever started it; it gets none.
    subprocess.run([*prefix, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def binaries() -> Path | None:
    """The newest server's programs, None where none is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return found[-1].parent if found else None


def start_server(folder: Path) -> Server:
    programs = binaries()
    assert programs is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    data.mkdir()
    password = folder / "password"
    password.write_text(PASSWORD)
    if os.geteuid() == 0:
        for path in (folder, data, password):
            shutil.chown(path, "postgres")
        folder.parent.chmod(0o755)
        folder.parent.parent.chmod(0o755)
    initdb = ("-D", str(data), "-U", "postgres", "-A", "scram-sha-256", "--pwfile", str(password), "-N")
    as_postgres(str(programs / "initdb"), *initdb)
    server = Server(programs, data, port)
    server.control("start")
    return server
