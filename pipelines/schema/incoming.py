"""Tables of loaded files and their rows."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from pipelines.schema.base import CLOCK, Timestamp, metadata, numbered

depots = sa.Table(
    "depots",
    metadata,
    sa.Column("depot_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("city", sa.Text, nullable=False),
    sa.Column("timezone", sa.Text, nullable=False),
    sa.Column("country", sa.Text, nullable=False),
    sa.Column("subdivision", sa.Text),
    sa.Column("vans", sa.Integer),
    sa.Column("opened_on", sa.Date),
    sa.Column("closed_on", sa.Date),
    # ISO weekdays, Monday is 1.
    sa.Column(
        "closed_weekdays",
        pg.ARRAY(sa.SmallInteger),
        nullable=False,
        server_default=sa.text("'{}'"),
    ),
    # False until a depots file has described a depot first seen in orders.
    sa.Column("is_complete", sa.Boolean, nullable=False),
    sa.CheckConstraint("vans >= 0", name="vans"),
    sa.CheckConstraint("depot_id <> ''", name="depot_id"),
)

files = sa.Table(
    "files",
    metadata,
    numbered("file_id"),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    # Digest of kind, column mapping and formats: the same bytes read with other options
    # are another load.
    sa.Column("options_sha256", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    # NAME of the setting `[sources.NAME]`; 'default' if no source was named or matched.
    sa.Column("source", sa.Text, nullable=False, server_default=sa.text("'default'")),
    sa.Column("accepted", sa.BigInteger, nullable=False),
    sa.Column("unchanged", sa.BigInteger, nullable=False),
    sa.Column("rejected", sa.BigInteger, nullable=False),
    sa.Column("ignored_columns", pg.ARRAY(sa.Text), nullable=False),
    # Set last, so that it increases in commit order: see `store.load_timestamps`.
    sa.Column("loaded_at", Timestamp, nullable=False, server_default=CLOCK),
    # Null unless the file was withdrawn.
    sa.Column("withdrawn_at", Timestamp),
    sa.CheckConstraint(
        "kind in ('depots','orders','daily','events','signals')", name="kind"
    ),
)

# A file that was withdrawn may be loaded again.
sa.Index(
    "uq_files_sha256_options_sha256",
    files.c.sha256,
    files.c.options_sha256,
    unique=True,
    postgresql_where=files.c.withdrawn_at.is_(None),
)

# No foreign keys on the two bulk tables: the load creates missing depots in the same
# transaction, and a key check per row would halve its speed.
orders = sa.Table(
    "orders",
    metadata,
    sa.Column("order_id", sa.Text, primary_key=True),
    sa.Column("depot_id", sa.Text, nullable=False),
    # Namespace of order_id: two partners may both count from 1. '' if the source has none.
    sa.Column("id_namespace", sa.Text, primary_key=True, server_default=sa.text("''")),
    sa.Column("ordered_local", sa.DateTime(timezone=False), nullable=False),
    # Minutes east of UTC where the file gave an offset; null: the depot's own time.
    sa.Column("utc_offset_minutes", sa.SmallInteger),
    sa.Column("file_id", sa.BigInteger, nullable=False),
)
# Orders are loaded day by day, so a BRIN index of a few pages finds old ones.
sa.Index("ix_orders_ordered_local", orders.c.ordered_local, postgresql_using="brin")

daily_counts = sa.Table(
    "daily_counts",
    metadata,
    sa.Column("depot_id", sa.Text, primary_key=True),
    sa.Column("service_on", sa.Date, primary_key=True),
    # Null: the file has the day without a count, so the day is not observed.
    sa.Column("orders", sa.BigInteger),
    sa.Column("file_id", sa.BigInteger, nullable=False),
    sa.CheckConstraint("orders >= 0", name="orders"),
)

# Rows of orders and daily_counts that a later file replaced; restored when that file is
# withdrawn.
superseded_rows = sa.Table(
    "superseded_rows",
    metadata,
    numbered("superseded_id"),
    sa.Column("table_name", sa.Text, nullable=False),
    # The file that the replaced row came from.
    sa.Column("file_id", sa.BigInteger, nullable=False),
    # The replaced row, by column.
    sa.Column("content", pg.JSONB, nullable=False),
)

# Files with rows that equal rows of an earlier file. An equal row is stored under the earlier
# file only, which therefore cannot be withdrawn without the later file.
file_repeats = sa.Table(
    "file_repeats",
    metadata,
    sa.Column(
        "file_id", sa.BigInteger, sa.ForeignKey("files.file_id"), primary_key=True
    ),
    sa.Column(
        "repeats_file_id",
        sa.BigInteger,
        sa.ForeignKey("files.file_id"),
        primary_key=True,
    ),
)

# Appended, never overwritten: a correction or a withdrawal closes the version before it.
event_versions = sa.Table(
    "event_versions",
    metadata,
    # From the file, else derived from kind, start and scope: see `store.events`.
    sa.Column(
        "event_id",
        sa.Text,
        primary_key=True,
        server_default=sa.text("gen_random_uuid()::text"),
    ),
    sa.Column("version", sa.Integer, primary_key=True, server_default="1"),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("starts_on", sa.Date, nullable=False),
    sa.Column("ends_on", sa.Date, nullable=False),
    # City or depot_id is set, or neither: then the event concerns every depot.
    sa.Column("city", sa.Text),
    sa.Column("depot_id", sa.Text),
    sa.Column("value", sa.Double),
    # First origin for which the event is known; null: every origin.
    sa.Column("known_from", sa.Date),
    sa.Column("withdrawn", sa.Boolean, nullable=False, server_default=sa.false()),
    # Load time. A first version is known from `known_from`, a later version from this time.
    sa.Column("known_at", Timestamp, nullable=False, server_default=CLOCK),
    sa.Column("superseded_at", Timestamp),
    # Null for a version made by hand, which has a reason instead.
    sa.Column("file_id", sa.BigInteger),
    sa.Column("reason", sa.Text),
    sa.CheckConstraint("ends_on >= starts_on", name="order"),
    sa.CheckConstraint("city is null or depot_id is null", name="scope"),
)
sa.Index(
    "uq_event_versions_current",
    event_versions.c.event_id,
    unique=True,
    postgresql_where=event_versions.c.superseded_at.is_(None),
)

# View of the newest version of every event that is not withdrawn.
events = sa.Table(
    "events",
    sa.MetaData(),
    *(sa.Column(column.name, column.type) for column in event_versions.columns),
)

# Values of signals: numbers known in advance. Appended, never overwritten, as `event_versions`.
signal_versions = sa.Table(
    "signal_versions",
    metadata,
    sa.Column("signal", sa.Text, primary_key=True),
    # Either depot_id or city is set; the other is ''.
    sa.Column("depot_id", sa.Text, primary_key=True, server_default=sa.text("''")),
    sa.Column("city", sa.Text, primary_key=True, server_default=sa.text("''")),
    sa.Column("day_on", sa.Date, primary_key=True),
    # First origin that knows the value; 0001-01-01: every origin.
    sa.Column("known_from", sa.Date, primary_key=True),
    # Counts from 1; more than 1 once the value was corrected or withdrawn. At most 0: a replayed
    # value below a later file's, which counts once that file is withdrawn.
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("withdrawn", sa.Boolean, nullable=False, server_default=sa.false()),
    # Load time. A first version is known from `known_from`, a later version from this time.
    sa.Column("known_at", Timestamp, nullable=False),
    sa.Column("superseded_at", Timestamp),
    sa.Column("file_id", sa.BigInteger, nullable=False),
    sa.CheckConstraint("(depot_id = '') <> (city = '')", name="place"),
)
sa.Index(
    "ix_signal_versions_day_on",
    signal_versions.c.day_on,
    postgresql_where=signal_versions.c.superseded_at.is_(None),
)

public_holidays = sa.Table(
    "public_holidays",
    metadata,
    sa.Column("country", sa.Text, primary_key=True),
    # '' for a country as a whole.
    sa.Column("subdivision", sa.Text, primary_key=True),
    sa.Column("day_on", sa.Date, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
)

quarantine = sa.Table(
    "quarantine",
    metadata,
    numbered("quarantine_id"),
    sa.Column(
        "file_id",
        sa.BigInteger,
        sa.ForeignKey("files.file_id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    sa.Column("line", sa.BigInteger),
    sa.Column("column_name", sa.Text),
    sa.Column("value", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("raw", pg.JSONB, nullable=False),
    # When the row was loaded after all; null while it is in quarantine.
    sa.Column("replayed_at", Timestamp),
)

# At most one row: the fleet that 'harbor demo' generated; other files are then rejected.
demo_fleet = sa.Table(
    "demo_fleet",
    metadata,
    sa.Column("seed", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("n_depots", sa.Integer, nullable=False),
    sa.Column("n_days", sa.Integer, nullable=False),
)
