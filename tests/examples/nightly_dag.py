"""Each night: recommend, and where the decision is to change, build, smoke-test and swap."""

import os
from datetime import datetime

from airflow.sdk import chain, dag, task

LOGS = os.environ.get("LOGS", "s3://logs/requests/")
MODEL = os.environ.get("MODEL", "/models/encoder.onnx")
LIVE = os.environ.get("LIVE", "/srv/encoder")
NEXT = os.environ.get("NEXT", "/srv/encoder-next")
RECOMMEND = os.environ.get("RECOMMEND", "--store postgresql://tuner@db/tuner")
BUILD = os.environ.get("BUILD", "")
SMOKE = os.environ.get("SMOKE", f"trtexec --loadEngine={NEXT}/model.engine --duration=1")


@dag(schedule="0 3 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def nightly_profiles():
    @task.bash
    def recommend() -> str:
        return (
            f"mkdir -p {NEXT}; deployed={LIVE}/current/profile.json; "
            f"tuner recommend --logs {LOGS} --model {MODEL} --out {NEXT}/profile.json {RECOMMEND} "
            '$(test -e "$deployed" && echo "--deployed $deployed")'
        )

    @task.short_circuit
    def is_change() -> bool:
        import tuner

        return tuner.load(f"{NEXT}/profile.json").decision == "change"

    @task.bash
    def build() -> str:
        return f"tuner build {NEXT}/profile.json --model {MODEL} --out {NEXT}/model.engine {BUILD}"

    @task.bash
    def smoke_test() -> str:
        return SMOKE

    @task.bash
    def swap() -> str:
        return (
            f"set -e; new=$(sha256sum {NEXT}/model.engine | cut -c1-16); mkdir -p {LIVE}/$new; "
            f"cp {NEXT}/profile.json {NEXT}/model.engine {NEXT}/model.engine.json {LIVE}/$new; "
            f"ln -s $new {LIVE}/next.$$; mv -T {LIVE}/next.$$ {LIVE}/current"
        )

    chain(recommend(), is_change(), build(), smoke_test(), swap())


nightly_profiles()
