"""Pages to look at runs with, on Streamlit: they read through report, and compute nothing."""
