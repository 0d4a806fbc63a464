"""What is sent to a measuring child comes out as it went in."""

from __future__ import annotations

import json

from tuner.axes import Size
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measure_wire import MeasureJob, measurement_from_json, measurement_to_json
from tuner.measurements.measurement import Measurement, Mode
from tuner.measurements.measuring import Visiting
from tuner.measurements.runner import SizeTask
from tuner.measurements.timing import SamplingRule, summarise


def test_job_survives_the_trip() -> None:
    task = SizeTask(
        size=Size.of(n=4),
        profile_index=1,
        shapes={"data": (4, 16), "target": (2,)},
        values={"target": (8, 8)},
        outputs={"output": (None, 8)},
    )
    job = MeasureJob(
        flavour="tensorrt",
        plan_path="/plans/a.engine",
        plan_digest="ab",
        fill=InputFill({"ids": 100}, seed=3),
        tasks=(task,),
        visiting=Visiting(rule=SamplingRule(min_samples=5), rounds=3, seed=9),
        verify_model="/models/a.onnx",
        verify_tasks=(task,),
        contexts=(1, 2),
    )
    assert MeasureJob.from_json(json.loads(json.dumps(job.to_json()))) == job


def test_measurement_survives_the_trip() -> None:
    measurement = Measurement(
        profile_index=0,
        size=Size.of(batch=1, seq=16),
        mode=Mode.CUDA_GRAPH,
        summary=summarise([1.0, 2.0]),
        samples_ms=(1.0, 2.0),
        caveats=("drift: it moved",),
    )
    assert measurement_from_json(json.loads(json.dumps(measurement_to_json(measurement)))) == measurement
