"""The evidence runs on a real GPU: models, traffic, agreement with what was recorded, repeatability.

`python tests/benchmarks/h200.py STEP FOLDER`, with the steps below in any order; the store in FOLDER
carries over, so a step that was interrupted goes on where it was. `report` prints the tables.
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Container, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tests.models import save
from tuner.axes import Size
from tuner.engines.builder import BuilderOptions
from tuner.measurements.bench import Bench, BuildChoices
from tuner.measurements.flat_parquet import RecordedEngine, read_flat, write_flat
from tuner.measurements.input_fill import fill_for
from tuner.measurements.measurement import BuiltEngine, Measurement, Mode
from tuner.measurements.store import Store, open_store
from tuner.measurements.workshop import WorkshopSettings, set_up
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile, ProfileSet

RECORDED = Path(__file__).parents[2] / "sample_logs"
ROOT = Path(__file__).parents[2]
TIME_LIMIT_S = 280
STATIC_BUILDS = 2

# Shares of fact 2 in the README of the recorded measurements: the sequence lengths of a real trace, cut at
# 512 and rounded up to the grid, and small batches.
SEQUENCES = {16: 9, 32: 459, 64: 364, 128: 55, 256: 45, 384: 31, 512: 36}
SMALL_BATCHES = {1: 50, 2: 20, 4: 10, 8: 10, 16: 5, 32: 3, 64: 2}
RANKER_BATCHES = {
    1: 40, 2: 25, 4: 20, 8: 20, 16: 30, 32: 60, 48: 60, 64: 90, 96: 90, 128: 120, 192: 110, 256: 100,
    384: 70, 512: 60, 768: 40, 1024: 30, 1536: 15, 2048: 10, 3072: 6, 4096: 4,
}  # fmt: skip
RESNET_BATCHES = {1: 400, 2: 150, 4: 120, 8: 120, 16: 90, 32: 80, 64: 40}
BUILDS = {"encoder": 8, "ranker": 6, "resnet": 4}


def traffic(name: str, folder: Path) -> Path:
    """The histogram that a model's profiles are tuned to, as a log."""
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        if name == "encoder":
            writer.writerow(["batch", "seq", "count"])
            pairs = itertools.product(SMALL_BATCHES.items(), SEQUENCES.items())
            writer.writerows([b, s, share * weight] for (b, share), (s, weight) in pairs)
        else:
            writer.writerow(["batch", "count"])
            writer.writerows((RANKER_BATCHES if name == "ranker" else RESNET_BATCHES).items())
    return path


def recommend(name: str, folder: Path) -> list[str]:
    """`tuner recommend` over real engines, as a user would call it."""
    model = model_file(name, folder)
    return [
        *(sys.executable, "-m", "tuner", "recommend", "--logs", str(traffic(name, folder))),
        *("--model", str(model), "--count", "count", "--log-kind", "histogram", "--axis", "batch=batch"),
        *(("--axis", "seq=seq") if name == "encoder" else ()),
        *("--builds", str(BUILDS[name]), "--tactic-sources", "none"),
        *("--max-profiles", "1" if name == "resnet" else "2"),
        *(("--verify-outputs",) if name == "ranker" and find_spec("onnxruntime") else ()),
        *("--store", url(folder), "--engine-folder", str(folder / "engines")),
        *("--time-limit", str(TIME_LIMIT_S), "--out", str(folder / f"{name}.json")),
    ]


def recommended(name: str, folder: Path) -> int:
    return subprocess.run(recommend(name, folder), cwd=ROOT, check=False).returncode


def killed(folder: Path) -> int:
    """Kill the encoder's run with SIGKILL in the middle of its second build; the step `encoder` goes on."""
    run = subprocess.Popen(recommend("encoder", folder), cwd=ROOT)
    while len(list((folder / "engines" / "logs").glob("*.engine.log"))) < 2:
        time.sleep(0.2)
        if run.poll() is not None:
            return run.returncode
    time.sleep(8)
    run.kill()
    run.wait()
    with open_store(url(folder)) as store:
        for engine in store.engines():
            count = len(store.measurements(engine.spec.key, engine.repeat))
            print(f"after the kill the store has {engine.name}: {engine.outcome}, {count} measurements")
    return 0


def failures(folder: Path) -> int:
    """What a user sees of a maximum that no GPU can hold, and of a model that does not parse."""
    impossible = folder / "impossible.csv"
    impossible.write_text("batch,seq,count\n1,16,99\n65536,262144,1\n")
    command = recommend("encoder", folder)
    command[command.index("--logs") + 1] = str(impossible)
    command[command.index("--builds") + 1] = "1"
    print(subprocess.run(command, cwd=ROOT, check=False, text=True, stderr=subprocess.PIPE).stderr)
    command = recommend("ranker", folder)
    command[command.index("--model") + 1] = str(model_file("unsupported", folder))
    command[command.index("--builds") + 1] = "1"
    print(subprocess.run(command, cwd=ROOT, check=False, text=True, stderr=subprocess.PIPE).stderr)
    return 0


def url(folder: Path) -> str:
    return f"sqlite:///{folder}/evidence.db"


def model_file(name: str, folder: Path) -> Path:
    path = folder / f"{name}.onnx"
    return path if path.exists() else save(name, path)


def bench_of(name: str, folder: Path, store: Store) -> Bench:
    path = model_file(name, folder)
    model = read_onnx(path)
    settings = WorkshopSettings(folder=folder / "engines", build_seconds=TIME_LIMIT_S)
    return Bench(
        model=model,
        model_path=path,
        store=store,
        tools=set_up(settings),
        fill=fill_for(model, path),
        choices=BuildChoices(precision="fp16", options=BuilderOptions(tactic_sources=())),
    )


def profile(low: Sequence[int], opt: Sequence[int], high: Sequence[int]) -> OptimizationProfile:
    axes = ("batch", "seq")[: len(low)]
    return OptimizationProfile(*(Size(axes, tuple(values)) for values in (low, opt, high)))


def encoder_over(opt: tuple[int, int]) -> OptimizationProfile:
    return profile((1, 16), opt, (64, 512))


def built_and_timed(
    bench: Bench, wanted: OptimizationProfile, sizes: Sequence[Sequence[int]], repeat: int = 0
) -> list[Measurement]:
    spec = bench.spec(ProfileSet((wanted,)))
    known = {engine.repeat: engine for engine in bench.builds(spec)}
    engine = known.get(repeat) or bench.build(spec, repeat)
    if not engine.is_built:
        sys.exit(f"{engine.name}: {engine.outcome}: {engine.reason}")
    bench.time(engine, [(0, Size(wanted.axes, tuple(values))) for values in sizes])
    return bench.store.measurements(spec.key, repeat)


GRID = tuple(itertools.product(SMALL_BATCHES, SEQUENCES))


def first(folder: Path) -> int:
    """One encoder engine at an opt that was recorded, for a first visit."""
    with open_store(url(folder)) as store:
        built_and_timed(bench_of("encoder", folder, store), encoder_over((4, 128)), GRID)
    return 0


def repeats(folder: Path) -> int:
    """One engine timed in two processes; prints the ratios of the same size."""
    with open_store(url(folder)) as store:
        bench = bench_of("encoder", folder, store)
        once = built_and_timed(bench, encoder_over((4, 128)), GRID)
        other = dataclasses.replace(bench, fill=dataclasses.replace(bench.fill, seed=1))
        again = built_and_timed(other, encoder_over((4, 128)), GRID)
    for mode in Mode:
        first, second = _times(once, mode, bench.fill.text), _times(again, mode, other.fill.text)
        ratios = [second[size] / first[size] for size in first]
        low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95])
        print(
            f"timed again, {mode}: p5 {low:.4f}, median {middle:.4f}, p95 {high:.4f} of {len(ratios)} sizes"
        )
    return 0


def static(folder: Path) -> int:
    """Static engines against dynamic ones at their own opt, several builds of each; prints all times."""
    at_opt = Size(("batch", "seq"), (4, 128))
    whole = {"dynamic": encoder_over((4, 128)), "static": profile((4, 128), (4, 128), (4, 128))}
    with open_store(url(folder)) as store:
        bench = bench_of("encoder", folder, store)
        for repeat, (name, wanted) in itertools.product(range(STATIC_BUILDS), whole.items()):
            taken = built_and_timed(bench, wanted, [(4, 128)], repeat)
            for mode in Mode:
                ms = _times(taken, mode, bench.fill.text)[at_opt]
                print(f"{name} engine at 4x128, build {repeat}, {mode}: {ms:.4f} ms", flush=True)
    return 0


def sweep(folder: Path) -> int:
    """The performance curve of a small engine with its contexts, outputs held against ONNX Runtime."""
    command = [
        *(sys.executable, "-m", "tuner", "measure", "--model", str(model_file("tiny_encoder", folder))),
        *("--sweep", "batch=1..8", "--sweep", "seq=64", "--contexts", "1,2,4"),
        *("--tactic-sources", "none", "--store", url(folder), "--engine-folder", str(folder / "engines")),
        *("--verify-outputs",) * bool(find_spec("onnxruntime")),
        *("--csv", str(folder / "sweep.csv"), "--time-limit", str(TIME_LIMIT_S)),
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def built(name: str, folder: Path, *options: str) -> int:
    """The build pipeline's step, for the set that was recommended."""
    command = [
        *(sys.executable, "-m", "tuner", "build", str(folder / f"{name}.json")),
        *("--model", str(model_file(name, folder)), "--out", str(folder / f"{name}.engine")),
        *("--tactic-sources", "none", "--engine-folder", str(folder / "engines")),
        *("--time-limit", str(TIME_LIMIT_S), *options),
    ]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    for told in folder.glob(f"{name}.engine*.json"):
        print(told.read_text())
    return code


def _times(measurements: Sequence[Measurement], mode: Mode, fill: str) -> dict[Size, float]:
    return {m.size: m.summary.p50_ms for m in measurements if (m.mode, m.input_fill) == (mode, fill)}


def export(folder: Path) -> int:
    """The store's content as small Parquet files, one a model; `earlier_*.parquet` of other visits joins."""
    with open_store(url(folder)) as store:
        for model in store.models():
            recorded = [_recorded(store, e) for e in store.engines(model.content_hash) if e.is_built]
            timed = [one for one in recorded if one.measurements]
            kinds = Counter(c.split(":")[0] for r in timed for m in r.measurements for c in m.caveats)
            count = sum(len(r.measurements) for r in timed)
            print(f"{model.name}: {len(timed)} engines, {count} measurements, caveats {dict(kinds)}")
            earlier = folder / f"earlier_{model.name}.parquet"
            if earlier.exists():
                for one in read_flat(earlier).engines:
                    timed.append(_renamed(one, {other.engine.name for other in timed}))
            if timed:
                write_flat(folder / f"h200_built_{model.name}.parquet", model, timed)
    return 0


def _recorded(store: Store, engine: BuiltEngine) -> RecordedEngine:
    """An engine with its measurements of one input fill: the flat form has one row a size."""
    measured = store.measurements(engine.spec.key, engine.repeat)
    own = tuple(m for m in measured if m.input_fill == measured[0].input_fill)
    return RecordedEngine(engine, own)


def _renamed(one: RecordedEngine, taken: Container[str]) -> RecordedEngine:
    """Under another name, where another visit built the same profiles."""
    name = one.engine.name
    while name in taken:
        name += " earlier"
    return RecordedEngine(dataclasses.replace(one.engine, name=name), one.measurements)


def report(folder: Path) -> int:
    """How the encoder's engines compare with recorded ones, and with another build of their own."""
    own = read_flat(folder / "h200_built_encoder.parquet").engines
    recorded = read_flat(RECORDED / "h200_trt86_encoder6.parquet").engines
    print("| opt | compared with | mode | sizes | ratio p5 | median | p95 |\n|---|---|---|---|---|---|---|")
    for i, one in enumerate(own):
        others = [("recorded", other) for other in recorded] + [("own", other) for other in own[i + 1 :]]
        for whose, other in others:
            if one.engine.spec.profiles != other.engine.spec.profiles or len(one.engine.spec.profiles) > 1:
                continue
            for mode in Mode:
                ratios = _ratios(one, other, mode)
                low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95])
                cells = f"{len(ratios)} | {low:.3f} | {middle:.3f} | {high:.3f}"
                print(f"| {_opt(one)} | {whose} {other.engine.name} | {mode} | {cells} |")
    return 0


def _opt(one: RecordedEngine) -> str:
    return one.engine.spec.profiles.profiles[0].opt.short


def _ratios(ours: RecordedEngine, theirs: RecordedEngine, mode: Mode) -> list[float]:
    def times(engine: RecordedEngine) -> dict[Size, float]:
        return {m.size: m.summary.p50_ms for m in engine.measurements if m.mode == mode}

    own, other = times(ours), times(theirs)
    return [own[size] / other[size] for size in own if size in other]


STEPS: dict[str, Callable[[Path], int]] = {
    "killed": killed,
    "encoder": lambda folder: recommended("encoder", folder),
    "ranker": lambda folder: recommended("ranker", folder),
    "resnet": lambda folder: recommended("resnet", folder),
    "failures": failures,
    "first": first,
    "repeats": repeats,
    "static": static,
    "sweep": sweep,
    "built": lambda folder: built("encoder", folder),
    "limited": lambda folder: built("ranker", folder, "--workspace", "1MiB"),
    "export": export,
    "report": report,
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in STEPS:
        sys.exit(f"usage: python tests/benchmarks/h200.py {{{','.join(STEPS)}}} FOLDER")
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    sys.exit(STEPS[sys.argv[1]](Path(sys.argv[2]).resolve()))
