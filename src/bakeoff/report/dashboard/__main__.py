"""Streamlit as a program; Ctrl-C while it still starts ends it without a word."""

from __future__ import annotations

import sys

try:
    from streamlit.web.cli import main

    main()
except KeyboardInterrupt:
    sys.exit(130)
