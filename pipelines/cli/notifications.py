"""`harbor notifications`: sends a test notification."""

import typer

from forecaster.errors import ConfigError
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json
from pipelines.cli.context import AsJson

app = CommandGroup(
    "notifications",
    "Notifications about nightly runs, by Slack, Teams, mail or webhook.",
)


@app.command("test")
def send_test(as_json: AsJson = False) -> None:
    """Sends a test notification to every channel, and shows whether it was accepted.

    Example: `harbor notifications test`
    """
    from pipelines.monitoring.notifications import Notification, channels_of
    from pipelines.settings import Settings

    channels = channels_of(Settings.load())
    if not channels:
        raise ConfigError(
            "HARBOR_NOTIFY_URLS is not set, so there is no channel to test. Set it to channel addresses."
        )
    test = Notification(
        ("test",),
        "Harbor Fleet: a test",
        "This is a test: notifications of Harbor Fleet arrive. Nothing is wrong.",
    )
    errors = [(channel.name, channel.send(test)) for channel in channels]
    if as_json:
        show_json([{"channel": name, "error": error} for name, error in errors])
    else:
        for name, error in errors:
            echo(f"{name}: {f'failed: {error}' if error else 'accepted'}.")
    if any(error for _, error in errors):
        raise typer.Exit(1)
