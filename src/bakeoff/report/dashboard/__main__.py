"""Runs Streamlit and opens its page; Ctrl-C during start-up exits quietly."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import webbrowser
from urllib.parse import urlsplit

OPEN_VARIABLE = "BAKEOFF_DASHBOARD_OPEN"
"""The environment variable with the address to open."""
PATIENCE_SECONDS = 60


def open_when_ready(address: str) -> None:
    """Open the page once something listens at its port."""
    place = urlsplit(address)
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            socket.create_connection((str(place.hostname), int(place.port or 80)), timeout=1).close()
        except OSError:
            time.sleep(0.2)
            continue
        webbrowser.open(address)
        return


try:
    from streamlit.web.cli import main

    if wanted := os.environ.pop(OPEN_VARIABLE, ""):
        threading.Thread(target=open_when_ready, args=(wanted,), daemon=True).start()
    main()
except KeyboardInterrupt:
    sys.exit(130)
