"""`tuner schema`: the JSON Schema of the document."""

from __future__ import annotations

import json


def schema() -> None:
    """Print the JSON Schema of the documents that this tuner writes.

    Example: tuner schema > profile.schema.json
    """
    from tuner.recommendation.document import schema as shipped

    print(json.dumps(shipped(), indent=2, ensure_ascii=False))
