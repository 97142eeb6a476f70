"""The Streamlit server that `harbor dashboard` starts: `asgi`, and its configuration."""
