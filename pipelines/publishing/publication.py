"""Publishes the forecast that is shown to the destination and webhooks of the settings."""

import pyarrow as pa
import sqlalchemy as sa

from forecaster.errors import HarborError
from pipelines.ingest.sources.files import first_line, without_credentials
from pipelines.publishing.destination import Destination
from pipelines.publishing.files import publish_files
from pipelines.publishing.webhooks import post, webhooks_of
from pipelines.runs.error_messages import is_full_disk
from pipelines.runs.ledger import Run
from pipelines.settings import Settings

# The forecast that is shown, if the run `:run` or one of its steps has made it.
MADE_BY_RUN = """
select publication_id, origin_on, model_version, is_live, published_at,
       (select count(*) from latest_forecasts) as rows
from shown_forecast
where run_id in (select run_id from runs where :run in (run_id, parent_id))
"""


class PublishError(HarborError):
    """A forecast is stored and shown, but could not be published to other systems."""


def is_wanted(settings: Settings) -> bool:
    """Whether anything is to be published."""
    return settings.publish_url is not None or settings.publish_webhooks is not None


def publish(run: Run, settings: Settings) -> None:
    """Brings the files up to date, then calls the webhooks if a new forecast is shown.

    Safe to repeat: files that are up to date are not written; webhooks are called again. They
    are called if this run, or its nightly run, has made the forecast that is shown.

    Raises:
      ConfigError: a setting is invalid.
      PublishError: the destination or a webhook failed.
    """
    addresses, where = webhooks_of(settings), None
    if settings.publish_url is not None:
        url = settings.publish_url.get_secret_value()
        where = without_credentials(url).rstrip("/")
        try:
            # Opening a bucket looks up its region.
            destination = Destination.at(url)
            where = destination.address
            run.metrics["published"] = publish_files(run.engine, destination)
        except (OSError, pa.ArrowException) as error:
            advice = "Check HARBOR_PUBLISH_URL and what this account may do there"
            if is_full_disk(error):
                advice = "Make room there"
            raise PublishError(
                f"The forecast could not be published to {where}: {first_line(error)}. "
                f"{advice}; the next attempt publishes what is missing."
            ) from error
    made_by = {"run": run.parent_id or run.run_id}
    with run.engine.connect() as connection:
        shown = connection.execute(sa.text(MADE_BY_RUN), made_by)
        made = shown.mappings().one_or_none()
    if made is None or not addresses:
        return
    message = {
        "event": "forecast_published",
        "publication_id": made["publication_id"],
        "origin_on": str(made["origin_on"]),
        "model_version": made["model_version"],
        "is_live": made["is_live"],
        "rows": made["rows"],
        "published_at": made["published_at"].isoformat(),
        "where": where and f"{where}/forecasts/origin_on={made['origin_on']}",
    }
    if failures := post(addresses, message):
        raise PublishError(
            "The forecast is published, but some webhooks did not get the message. "
            f"{' '.join(failures)} The next attempt calls all of them again."
        )
    run.metrics["webhooks"] = len(addresses)
