"""The logged-in user of a session; `pipelines.settings.login` defines who may see the pages."""
