"""Settings of publishing to other systems."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class PublishSettings(BaseSettings):
    """A part of `Settings`, which reads the environment."""

    publish_url: SecretStr | None = Field(
        default=None,
        description="Folder or bucket (s3://, gs://, abfs://) to which each night publishes "
        "forecasts, totals and scores as Parquet. Nothing is published without.",
    )
    publish_webhooks: SecretStr | None = Field(
        default=None,
        description="Addresses, separated by spaces, to which each published forecast is "
        "posted as JSON.",
    )
