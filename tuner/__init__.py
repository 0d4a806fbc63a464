"""Tunes TensorRT optimization profiles to production traffic.

In a server or a build script: `load` reads a document, `apply` adds its profiles to a builder
configuration, and `Router` picks the profile of a size. They need nothing beside the standard library.
"""

from tuner.errors import TunerError
from tuner.export.builder_config import apply
from tuner.export.router import Router
from tuner.recommendation.profile_document import DocumentProfile, ProfileDocument
from tuner.recommendation.reading_document import load

__version__ = "0.1.0"
__all__ = ["DocumentProfile", "ProfileDocument", "Router", "TunerError", "__version__", "apply", "load"]
