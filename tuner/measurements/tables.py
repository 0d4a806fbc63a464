"""The store's tables and its schema version; all of ours start with `tuner_`, Optuna's are Optuna's."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = "4"

metadata = MetaData()

# Named and shaped as Alembic does it.
version = Table("tuner_alembic", metadata, Column("version_num", String(32), primary_key=True))

builds = Table(
    "tuner_builds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, index=True),
    Column("repeat", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("model_name", String(255), nullable=False),
    Column("model_inputs", Text, nullable=False),
    Column("model_hash", String(64), nullable=False, index=True),
    Column("profiles", Text, nullable=False),
    Column("precision", String(16), nullable=False),
    Column("builder_options", Text, nullable=False),
    Column("gpu", String(128), nullable=False),
    Column("tensorrt", String(32), nullable=False),
    Column("flavour", String(32), nullable=False),
    Column("driver", String(64)),
    Column("cuda", String(64)),
    Column("clock_policy", Text),
    Column("outcome", String(32), nullable=False),
    Column("reason", Text),
    Column("build_s", Float),
    Column("plan_bytes", BigInteger),
    Column("device_memory_bytes", BigInteger),
    Column("plan_digest", String(64)),
    Column("workspace_bytes", BigInteger),
    Column("timing_cache", Text),
    Column("size_change_ms", Float),
    Column("profile_change_ms", Float),
    Column("measured_on", String(32)),
    Column("source", String(255), nullable=False),
    UniqueConstraint("key", "repeat"),
)

measurements = Table(
    "tuner_measurements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("build_id", ForeignKey("tuner_builds.id"), nullable=False, index=True),
    Column("profile_index", Integer, nullable=False),
    Column("size", Text, nullable=False),
    Column("mode", String(16), nullable=False),
    Column("input_fill", String(64), nullable=False),
    Column("mean_ms", Float, nullable=False),
    Column("std_ms", Float, nullable=False),
    Column("min_ms", Float, nullable=False),
    Column("p50_ms", Float, nullable=False),
    Column("p90_ms", Float, nullable=False),
    Column("p99_ms", Float, nullable=False),
    Column("max_ms", Float, nullable=False),
    Column("sample_count", Integer, nullable=False),
    Column("first_run_ms", Float),
    Column("h2d_ms", Float),
    Column("d2h_ms", Float),
    Column("enqueue_ms", Float),
    Column("utilisation", Float),
    Column("caveats", Text, nullable=False),
    UniqueConstraint("build_id", "profile_index", "size", "mode", "input_fill"),
)

samples = Table(
    "tuner_samples",
    metadata,
    Column("measurement_id", ForeignKey("tuner_measurements.id"), primary_key=True),
    # Little-endian float64 milliseconds, one after the other.
    Column("samples_ms", LargeBinary, nullable=False),
)

# One size in several execution contexts of one engine at once.
contexts = Table(
    "tuner_contexts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("build_id", ForeignKey("tuner_builds.id"), nullable=False, index=True),
    Column("size", Text, nullable=False),
    Column("contexts", Integer, nullable=False),
    Column("p50_ms", Float, nullable=False),
    Column("p99_ms", Float, nullable=False),
    Column("inferences_per_s", Float, nullable=False),
    UniqueConstraint("build_id", "size", "contexts"),
)

runs = Table(
    "tuner_runs",
    metadata,
    Column("run_id", String(32), primary_key=True),
    # One run at a time works on a study.
    Column("study", String(255), nullable=False, unique=True),
    Column("host", String(255), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process", String(32), nullable=False),
    Column("last_seen_s", Float, nullable=False),
)

traffic = Table(
    "tuner_traffic",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("axes", Text, nullable=False),
    Column("requests", BigInteger, nullable=False),
    # Little-endian int64, row after row: sizes of shape (distinct, axes), counts of shape (distinct,).
    Column("sizes", LargeBinary, nullable=False),
    Column("counts", LargeBinary, nullable=False),
)

documents = Table(
    "tuner_documents",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("decided_at", String(32), nullable=False),
    Column("model_name", String(255)),
    Column("decision", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("gain", Float),
    Column("shift", Float),
    Column("build_count", Integer, nullable=False),
    Column("gpu_s", Float, nullable=False),
    Column("wall_s", Float, nullable=False),
    Column("traffic_id", ForeignKey("tuner_traffic.id"), nullable=False),
    Column("document", Text, nullable=False),
)
