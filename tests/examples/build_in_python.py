"""Builds an engine with the recommended profiles: build_in_python.py profile.json model.onnx model.engine"""

import sys
from pathlib import Path

import tensorrt as trt  # or: import tensorrt_rtx as trt

import tuner


def build(document: tuner.ProfileDocument, model: str) -> bytes:
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    flags = trt.NetworkDefinitionCreationFlag
    # Release 8 has to be told that the batch is a dimension; later ones take it for granted.
    explicit = getattr(flags, "EXPLICIT_BATCH", None)
    network = builder.create_network(0 if explicit is None else 1 << int(explicit))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(model):
        raise SystemExit("\n".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
    config = builder.create_builder_config()
    tuner.apply(document.profiles, builder, config, network)
    return bytes(builder.build_serialized_network(network, config))


if __name__ == "__main__":
    profile, model, engine = sys.argv[1:]
    Path(engine).write_bytes(build(tuner.load(profile), model))
