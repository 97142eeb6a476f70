"""Metadata, naming convention and types that all tables share."""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

Timestamp = sa.DateTime(timezone=True)
NOW = sa.text("now()")
CLOCK = sa.text("clock_timestamp()")


def numbered(name: str) -> sa.Column[int]:
    """A primary key column that the database numbers."""
    return sa.Column(name, sa.BigInteger, sa.Identity(always=True), primary_key=True)


def model_version(*, primary_key: bool = True) -> sa.Column[str]:
    """The column `model_version`, which references `models`; part of the primary key or not."""
    model = sa.ForeignKey("models.version")
    return sa.Column(
        "model_version", sa.Text, model, primary_key=primary_key, nullable=False
    )


def doubles(*names: str) -> list[sa.Column[float]]:
    """Columns of double-precision numbers, not null."""
    return [sa.Column(name, sa.Double, nullable=False) for name in names]
