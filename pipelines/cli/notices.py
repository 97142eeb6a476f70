"""`harbor notices`: what people were told by webhook and mail."""

from datetime import UTC
from typing import Annotated, Any

import typer

from forecaster.errors import ConfigError, HarborError
from pipelines.cli.console import say, show_json, show_table
from pipelines.cli.workplace import AsJson, workplace
from pipelines.monitoring.notifications.channels import channels_of
from pipelines.monitoring.notifications.rules import Notice
from pipelines.settings import Settings
from pipelines.store import notices as store

app = typer.Typer(
    name="notices",
    help="Notices about the nights, sent by webhook and mail.",
    no_args_is_help=True,
)
NONE_SET = (
    "HARBOR_NOTICE_WEBHOOK and HARBOR_NOTICE_SMTP_HOST are not set, so no notices "
    "are sent. Set one of them."
)
TEST = Notice(
    "test", "test", "This is a test: notices of Harbor Fleet arrive. Nothing is wrong."
)


@app.command("test")
def send_test(as_json: AsJson = False) -> None:
    """Sends a test notice on every channel that is set, and says whether it was accepted.

    Example: `harbor notices test`
    """
    channels = channels_of(Settings.load())
    if not channels:
        raise ConfigError(NONE_SET)
    found = []
    for name, send in channels.items():
        try:
            send(TEST)
        except HarborError as error:
            found.append({"channel": name, "sent": False, "says": str(error)})
        else:
            found.append({"channel": name, "sent": True, "says": "It was accepted."})
    if as_json:
        show_json(found)
    else:
        for each in found:
            say(f"{each['channel']}: {each['says']}")
    if not all(each["sent"] for each in found):
        raise typer.Exit(1)


@app.command("list")
def list_notices(
    limit: Annotated[int, typer.Option(help="Notices to show.", min=1)] = 20,
    as_json: AsJson = False,
) -> None:
    """Lists the newest notices, and whether they were sent.

    Example: `harbor notices list`
    """
    with workplace() as place, place.engine.connect() as connection:
        found = store.newest(connection, limit)
    if as_json:
        show_json(found)
    elif found:
        rows = [
            (
                f"{row['made_at'].astimezone(UTC):%Y-%m-%d %H:%M}",
                row["channel"],
                _state(row),
                row["message"],
            )
            for row in found
        ]
        show_table("Newest notices", ("made (UTC)", "channel", "state", "what"), rows)
    else:
        say("There are no notices yet. 'harbor watch' sends them.")


def _state(row: dict[str, Any]) -> str:
    if row["sent_at"] is not None:
        return "sent"
    state = "given up" if row["next_attempt_at"] is None else "waits"
    return f"{state}: {row['error']}" if row["error"] else state
