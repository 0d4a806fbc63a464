"""Logs in an object store: a real server on loopback, started here."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from tests.logs.log_files import parquet, percentiles, read
from tuner.errors import TunerError

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Host and port of an S3 server that holds nothing yet but a bucket."""
    pytest.importorskip("moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"},
    )
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def bucket(server: str, tmp_path: Path) -> str:
    """The query of an address of the bucket, which holds two hours of logs and what is unfinished."""
    store = fs.S3FileSystem(
        access_key="test",
        secret_key="test",
        endpoint_override=server,
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    store.create_dir("logs")
    for hour in (7, 8):
        local = parquet(tmp_path / f"{hour}.parquet", {"seq": [hour, hour + 1]})
        with store.open_output_stream(f"logs/batch=4/hour={hour:02}/a.parquet") as stream:
            stream.write(local.read_bytes())
    for name, text in (("b.jsonl", json.dumps({"seq": 100, "batch": 8}) + "\n"), ("_SUCCESS", "")):
        with store.open_output_stream(f"logs/{name}", compression=None) as stream:
            stream.write(text.encode())
    return f"?endpoint_override={server}&scheme=http&region=us-east-1"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.mark.parametrize(
    ("path", "sizes"),
    [
        ("s3://logs", [7, 8, 9, 100]),
        ("s3://logs/b.jsonl", [100]),
        ("s3://logs/batch=4/*/a.parquet", [7, 8, 9]),
        ("s3://logs/batch=4/hour=07", [7, 8]),
    ],
)
def test_folders_files_and_globs_of_a_bucket_are_read(bucket: str, path: str, sizes: list[int]) -> None:
    traffic = read(path + bucket)

    assert traffic.histogram.values("seq").tolist() == sizes
    assert set(percentiles(traffic, "batch", 0, 100)) <= {4, 8}


def test_a_bucket_that_is_not_there_is_one_line(bucket: str) -> None:
    with pytest.raises(TunerError, match="logs s3://nowhere"):
        read("s3://nowhere/a.parquet" + bucket)
