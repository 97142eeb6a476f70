"""Starts Streamlit and serves the pages."""
