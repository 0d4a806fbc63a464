"""A model for Triton's Python backend that only waits: as long as a curve says for the executed batch."""

import json
import os
import time

import numpy as np
import triton_python_backend_utils as pb_utils

_SPIN_S = 0.0003
"""The last stretch is spun, since a sleep comes back late by about a tenth of a millisecond."""


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self._service_s = json.loads(parameters["service_s"]["string_value"])
        log = parameters["log"]["string_value"]
        self._log = open(f"{log}.{os.getpid()}", "a", buffering=1)  # noqa: SIM115  # open as long as the model
        self._zero = np.zeros((1, 1), np.int32)

    def execute(self, requests):
        begin = time.monotonic()
        end = begin + self._service_s[len(requests)]
        while (left := end - time.monotonic()) > 0:
            if left > _SPIN_S:
                time.sleep(left - _SPIN_S)
        self._log.write(f"{begin} {len(requests)} {time.monotonic() - end}\n")
        # Each request gets a response of its own: the server takes them over one by one.
        return [
            pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("answer", self._zero)])
            for _ in requests
        ]
