"""The built-in plug-ins, one file each; only the registry imports them.

Some engines send their makers what they are used for unless they are told not to, by the environment and before they
are imported. This is where all of them come in; who wants to send it sets the variable.
"""

import os

SILENT = {
    "ANONYMIZED_TELEMETRY": "False",  # Chroma
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime, also a file in the home folder
    "RAY_USAGE_STATS_ENABLED": "0",
}

for _name, _value in SILENT.items():
    os.environ.setdefault(_name, _value)
