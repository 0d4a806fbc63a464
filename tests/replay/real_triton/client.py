"""Starts the Triton server that nvidia-pytriton carries, sends requests at given times, says what came back.

Run by an interpreter that has nvidia-pytriton; the job is JSON on stdin, the answer JSON on stdout.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time

import numpy as np
import pytriton
import tritonclient.grpc as triton

SERVER = pathlib.Path(pytriton.__file__).parent / "tritonserver"
LIBRARIES = (sysconfig.get_config_var("LIBDIR"), SERVER.parents[1] / "nvidia_pytriton.libs")
BURSTS = 15
CONFIG = """
name: "{name}"
backend: "python"
max_batch_size: {max_batch}
input [{{ name: "asked", data_type: TYPE_INT32, dims: [ {dims} ] }}]
output [{{ name: "answer", data_type: TYPE_INT32, dims: [ 1 ] }}]
instance_group [{{ count: {instances}, kind: KIND_CPU }}]
{batching}
parameters [
  {{ key: "service_s", value: {{ string_value: "{service}" }} }},
  {{ key: "log", value: {{ string_value: "{log}" }} }}
]
"""


def write_model(repository, name, job, service_s):
    folder = repository / name / "1"
    folder.mkdir(parents=True)
    shutil.copy(pathlib.Path(__file__).with_name("model.py"), folder / "model.py")
    settings = []
    if job["preferred"]:
        settings.append(f"preferred_batch_size: {job['preferred']}")
    if job["delay_us"]:
        settings.append(f"max_queue_delay_microseconds: {job['delay_us']}")
    text = CONFIG.format(
        name=name,
        max_batch=job["max_batch"],
        dims=-1 if job["is_dynamic"] else 1,
        instances=job["instances"],
        batching="dynamic_batching { " + "\n".join(settings) + " }",
        service=json.dumps(service_s),
        log=repository.parent / name,
    )
    (repository / name / "config.pbtxt").write_text(text)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_server(repository, port, log):
    stubs = SERVER / "python_backend_stubs" / f"{sys.version_info[0]}.{sys.version_info[1]}"
    backends = repository.parent / "backends" / "python"
    shutil.copytree(SERVER / "backends" / "python", backends)
    shutil.copy(stubs / "triton_python_backend_stub", backends)
    environment = {
        **os.environ,
        # The stub loads the interpreter's own library and modules, else it fails at its first import.
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, LIBRARIES)),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path.endswith("site-packages")),
    }
    return subprocess.Popen(
        [
            str(SERVER / "bin" / "tritonserver"),
            f"--model-repository={repository}",
            f"--backend-directory={repository.parent / 'backends'}",
            f"--grpc-port={port}",
            "--grpc-address=127.0.0.1",
            "--allow-http=false",
            "--allow-metrics=false",
            "--exit-timeout-secs=5",
        ],
        env=environment,
        stdout=log,
        stderr=log,
    )


def wait_until_ready(client, server, log_path, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            if client.is_server_ready():
                return
        except triton.InferenceServerException:
            pass
        time.sleep(0.1)
    raise SystemExit("Triton did not start:\n" + pathlib.Path(log_path).read_text()[-4000:])


def body(length):
    tensor = triton.InferInput("asked", [1, length], "INT32")
    tensor.set_data_from_numpy(np.zeros((1, length), np.int32))
    return [tensor]


def send(client, model, times_s, lengths):
    """Send each request at its time after the start; when each was sent and answered (monotonic clock)."""
    sent, answered = [0.0] * len(times_s), [0.0] * len(times_s)
    left, errors = threading.Semaphore(0), []
    bodies = {length: body(length) for length in set(lengths)}

    def done(row, result, error):
        answered[row] = time.monotonic()
        if error is not None:
            errors.append(error)
        left.release()

    begin = time.monotonic() + 0.05
    for row, at in enumerate(times_s):
        while (wait := begin + at - time.monotonic()) > 0:
            time.sleep(wait)
        sent[row] = time.monotonic()
        client.async_infer(
            model, bodies[lengths[row]], lambda result, error, row=row: done(row, result, error)
        )
    if not all(left.acquire(timeout=60) for _ in times_s):
        raise SystemExit("an answer did not come within 60 s")
    if errors:
        raise SystemExit(f"{len(errors)} requests failed, the first with: {errors[0]}")
    return sent, answered


def spent(client, model):
    """Executions so far and the seconds that an instance was taken up by them."""
    found = client.get_inference_statistics(model, as_json=True)["model_stats"][0]
    parts = ("compute_input", "compute_infer", "compute_output")
    # Counts of zero are left out of the answer.
    times = (int(found["inference_stats"][part].get("ns", 0)) for part in parts)
    return int(found.get("execution_count", 0)), sum(times) / 1e9


def overhead(client, length):
    """Calm requests to the instant model: response times, and mean time an instance was taken, by burst."""
    responses, occupied = [], []
    for _ in range(BURSTS):
        count, seconds = spent(client, "instant")
        sent, answered = send(client, "instant", [0.02 * i for i in range(20)], [length] * 20)
        later, more = spent(client, "instant")
        responses += [b - a for a, b in zip(sent, answered, strict=True)]
        if later > count:
            occupied.append((more - seconds) / (later - count))
    return responses, occupied


def executions(folder, name):
    """Begin, batch and how late the wait came back, of each execution."""
    rows = [line.split() for path in folder.glob(f"{name}.*") for line in path.read_text().splitlines()]
    return sorted((float(begin), int(batch), float(late)) for begin, batch, late in rows)


def main():
    job = json.load(sys.stdin)
    # Where it is allowed: other work on the machine would else be measured as Triton's.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        repository = root / "models"
        write_model(repository, "sleeper", job, job["service_s"])
        calmly = {**job, "preferred": [], "delay_us": 0}
        write_model(repository, "instant", calmly, [0.0] * len(job["service_s"]))
        port = free_port()
        log_path = root / "server.log"
        with open(log_path, "w") as log:
            server = start_server(repository, port, log)
            try:
                client = triton.InferenceServerClient(f"127.0.0.1:{port}")
                wait_until_ready(client, server, log_path)
                send(client, "instant", [0.02], [job["lengths"][0]])
                instant, occupied = overhead(client, job["lengths"][0])
                send(client, "sleeper", [0.05 * i for i in range(20)], [job["lengths"][0]] * 20)
                sent, answered = send(client, "sleeper", job["times_s"], job["lengths"])
                client.close()
            finally:
                server.terminate()
                server.wait(30)
        json.dump(
            {
                "sent_s": sent,
                "answered_s": answered,
                "instant_s": instant,
                "occupied_s": occupied,
                "executions": [one for one in executions(root, "sleeper") if one[0] >= sent[0]],
            },
            sys.stdout,
        )


if __name__ == "__main__":
    main()
