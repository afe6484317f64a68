"""The Streamlit dashboard; its pages show what `report` builds and compute nothing."""
