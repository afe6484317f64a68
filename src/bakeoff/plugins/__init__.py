"""The built-in plug-ins, one file each; only the registry imports them.

Some engines report usage to their vendors unless an environment variable forbids it before import. These
variables are set here, before any plug-in is imported; set one yourself to allow the reports.
"""

import os

SILENT = {
    "ANONYMIZED_TELEMETRY": "False",  # Chroma
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime, also a file in the home folder
    "RAY_USAGE_STATS_ENABLED": "0",
}

for _name, _value in SILENT.items():
    os.environ.setdefault(_name, _value)
