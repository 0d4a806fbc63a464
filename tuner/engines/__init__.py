"""Builds TensorRT engines from a model and a profile set."""
