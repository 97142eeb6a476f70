"""Streamlit as `harbor dashboard` starts it: `asgi`, and its configuration."""
