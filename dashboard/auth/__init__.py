"""The logged-in user of a session; `pipelines.settings.login` says who may see the pages."""
