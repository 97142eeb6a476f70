"""Counts raw orders in a bucket into a `daily` file, by the rules of Harbor's own count.

    spark-submit daily_demand.py ORDERS DEPOTS DAILY REJECTED --through DATE

The statements are those of pipelines/store/order_counts.py and observed_zeros.py in Spark's
SQL; tests/deploy/test_spark.py compares their counts with Postgres'. It is one file that
needs nothing but Spark 4, so that it can be submitted as it is.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import date

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import IntegralType, StringType, TimestampType

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
}
ORDER_COLUMNS = ("order_id", "depot_id", "ordered_at")
TEXTS = (IntegralType, StringType)
ISO_8601 = (
    r"^(\d{4}-\d\d-\d\d(?:[ T]\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?)?)"
    r"(?:(?<=.{13})\d*(?: ?([Zz]|[+-]\d\d(?::?\d\d)?))?)?$"
)
"""Wall-clock time and offset; only a time of day has an offset."""
SPACE = r"(?U)^\s+|\s+$"
MAX_TEXT_CHARS = 200
MAX_UTC_OFFSET_MINUTES = 18 * 60

# Within a file the last row wins, and a later file replaces an earlier one. An order that a
# later file only repeats stays with the earlier file.
LATEST = """
select order_id, kept.said.*, kept.file
from (select order_id, aggregate(versions, versions[0],
                 (kept, next) -> if(kept.said <=> next.said, kept, next)) as kept
      from (select order_id, array_sort(collect_list(struct(file, said))) as versions
            from (select order_id, file,
                         max_by(struct(depot_id, ordered_local, utc_offset_minutes), row)
                             as said
                  -- Once, for both groupings.
                  from (select /*+ repartition(order_id) */ * from readable)
                  group by order_id, file)
            group by order_id))
"""
COUNTS = """
select depot_id, service_on, count(*) as orders, min(file) as file
from (select o.depot_id, o.file, to_date(
                 case when o.utc_offset_minutes is null then o.ordered_local
                 else convert_timezone('UTC', coalesce(d.timezone, :timezone, raise_error(
                          'Depot ' || o.depot_id || ' has orders, but the depots do not say '
                          || 'its time zone. Add it there, or give --timezone.')),
                      o.ordered_local - make_dt_interval(0, 0, o.utc_offset_minutes)) end
             ) as service_on
      from latest o left join depots d using (depot_id))
group by depot_id, service_on
"""
# The rules of no orders, and why: see observed_zeros.py.
GAPS = """
with counted as (
    select c.*, d.opened_on, d.closed_on, lead(service_on) over own as next_on,
           lead(orders) over own as next_orders, lead(file) over own as next_file,
           first_value(service_on) over own as first_on
    from counts c left join depots d using (depot_id)
    window own as (partition by depot_id order by service_on)
)
select depot_id, file, service_on as before_on, orders as before_orders, next_on,
       next_orders, next_file, first_on, date_add(service_on, 1) as from_on,
       least(date_sub(coalesce(next_on, date_add(:through, 1)), 1), date_sub(closed_on, 1))
           as until_on
from counted
union all
select depot_id, file, null, null, null, null, null, first_on, opened_on,
       date_sub(service_on, 1)
from counted where service_on = first_on
"""
SILENT = """
select *, explode(sequence(from_on, until_on)) as day_on
from gaps where from_on <= until_on
"""
FEEDS = """
select file, count(*) as depots, transform(
           slice(array_sort(collect_list(struct(-orders, depot_id))), 1, 4), d -> d.depot_id
       ) as busiest
from (select file, depot_id, sum(orders) as orders from counts group by file, depot_id)
group by file having count(*) > 1
"""
# Days on whose weekday, in the four weeks before, the depot has many orders.
BUSY_WEEKDAYS = """
select s.depot_id, s.day_on
from (select depot_id, day_on, explode(array(7, 14, 21, 28)) as back from silent) s
join counts c on c.depot_id = s.depot_id and c.service_on = date_sub(s.day_on, s.back)
group by s.depot_id, s.day_on having avg(c.orders) >= 5
"""
# Days on whose weekday, in both weeks before, the depot rested.
RESTS = """
select depot_id, day_on
from (select s.depot_id, s.day_on, s.other_on
      from (select depot_id, day_on, explode(array(date_sub(day_on, 7), date_sub(day_on, 14)))
                       as other_on
            from silent) s
      join counts c on c.depot_id = s.depot_id
       and c.service_on between date_sub(s.other_on, 3) and date_add(s.other_on, 3)
      group by s.depot_id, s.day_on, s.other_on
      having not bool_or(c.service_on = s.other_on)
         and datediff(min(c.service_on) filter (where c.service_on > s.other_on),
                      max(c.service_on) filter (where c.service_on < s.other_on)) <= 4)
group by depot_id, day_on having count(*) = 2
"""
ZEROS = """
select s.depot_id, s.day_on
from silent s
join (select distinct file, service_on from counts join feeds using (file)) f
  on f.file = s.file and f.service_on = s.day_on
union
select s.depot_id, s.day_on
from (select s.*, own.depots, explode(own.busiest) as witness
      from silent s join feeds own using (file)) s
join counts w on w.depot_id = s.witness and w.service_on = s.day_on
left join feeds theirs on theirs.file = w.file
left join feeds later on later.file = s.next_file
left join counts before
  on before.depot_id = s.depot_id and before.service_on = date_sub(s.day_on, 7)
left join busy_weekdays b on b.depot_id = s.depot_id and b.day_on = s.day_on
where s.witness <> s.depot_id
  and (theirs.depots * 2 > s.depots or array_contains(later.busiest, s.witness))
  and (s.day_on < :through or (s.before_orders < 5 and b.depot_id is null)
       or (before.depot_id is null and s.first_on <= date_sub(s.day_on, 7)))
union
select s.depot_id, s.day_on
from silent s
left join feeds own using (file)
left join busy_weekdays b on b.depot_id = s.depot_id and b.day_on = s.day_on
left join rests r on r.depot_id = s.depot_id and r.day_on = s.day_on
where own.depots is null
  and ((datediff(s.next_on, s.before_on) <= 14 and b.depot_id is null
        -- The orders of a later day may still be coming.
        and (s.before_orders < 5 or (s.next_orders < 5 and s.next_on <= :through)))
    or (datediff(s.day_on, s.before_on) <= 3 and s.first_on <= date_sub(s.day_on, 14)
        and r.depot_id is not null))
"""
DAILY = """
select depot_id, service_on as date, orders
from (select depot_id, service_on, orders from counts
      union all select depot_id, day_on, 0 from zeros)
where service_on between :since and :through
"""


def main(words: Sequence[str] | None = None) -> None:
    """Counts as the command line says, and prints how much."""
    options = _parser().parse_args(words)
    spark = SparkSession.builder.appName("daily_demand").getOrCreate()
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    read_depots(spark, options.depots).createOrReplaceTempView("depots")
    days = {name: getattr(options, name) for name in ("since", "through", "timezone")}
    require_over(spark, days)
    orders = read_orders(spark, options.orders)
    orders.where("reason is not null").write.parquet(options.rejected)
    orders.where("reason is null").createOrReplaceTempView("readable")
    # One file, so that it is loaded whole or not at all.
    one = count(spark, days).repartition(1).sortWithinPartitions("date", "depot_id")
    one.write.parquet(options.daily)
    print(  # noqa: T201 - the log of a job is its standard output
        f"{spark.read.parquet(options.daily).count():,} depot-days through "
        f"{options.through} are in {options.daily}; "
        f"{spark.read.parquet(options.rejected).count():,} rows of orders could not be "
        f"read, and are in {options.rejected} with their reasons."
    )


def read_depots(spark: SparkSession, path: str) -> DataFrame:
    """Reads depot_id, timezone, and the days of opening and closing where there are any."""
    reader = spark.read.option("header", True)
    depots = reader.csv(path) if path.endswith(".csv") else reader.parquet(path)
    _require_columns(depots, path, ("depot_id", "timezone"))
    days = [
        (sf.col(name) if name in depots.columns else sf.lit(None))
        .cast("date")
        .alias(name)
        for name in ("opened_on", "closed_on")
    ]
    depots = depots.select(_text("depot_id"), _text("timezone"), *days)
    twice = depots.groupBy("depot_id").count().where("count > 1").first()
    if twice:
        sys.exit(
            f"{path} has depot {twice.depot_id} more than once. Leave one row of it."
        )
    return depots


def require_over(spark: SparkSession, days: dict[str, object]) -> None:
    """Refuses a last day that is not over in every zone: its count would be too low."""
    late = spark.sql(
        """select zone from (select timezone as zone from depots union select :timezone)
        where to_date(convert_timezone('UTC', zone, cast(now() as timestamp_ntz)))
              <= :through""",
        days,
    ).first()
    if late:
        sys.exit(
            f"{days['through']} is not over in {late.zone}. Choose an earlier day."
        )


def read_orders(spark: SparkSession, path: str) -> DataFrame:
    """Reads orders with their file, their place in it, and why they cannot be counted.

    Returns:
      order_id, depot_id, ordered_at as written, ordered_local without a zone,
      utc_offset_minutes (null: the depot's own time), file, row, reason (null: it can).
    """
    files = spark.read.options(
        recursiveFileLookup=True, pathGlobFilter="*.parquet", mergeSchema=True
    ).parquet(path)
    _require_columns(files, path, ORDER_COLUMNS)
    for name in ("order_id", "depot_id"):
        if not isinstance(files.schema[name].dataType, TEXTS):
            sys.exit(
                f"{path} has {name} as {files.schema[name].dataType.simpleString()}. "
                "Write it as text."
            )
    local, minutes = _moment(files)
    return files.select(
        _text("order_id"), _text("depot_id"), _text("ordered_at"),
        local.alias("ordered_local"), minutes.alias("utc_offset_minutes"),
        # Decoded, so that files are in the order of their names.
        sf.expr("url_decode(replace(_metadata.file_path, '+', '%2B'))").alias("file"),
        sf.col("_metadata.row_index").alias("row"),
    ).where("coalesce(order_id, depot_id, ordered_at) is not null").withColumn(
        "reason", sf.coalesce(_reason("order_id"), _reason("depot_id"), _reason_of_moment())
    )  # fmt: skip


def count(spark: SparkSession, days: dict[str, object]) -> DataFrame:
    """Counts the view `readable` into depot_id, date and orders.

    Args:
      spark: With the views `readable` and `depots`.
      days: since and through, the days that are returned; timezone of other depots.
    """
    statements = {
        "latest": LATEST, "counts": COUNTS, "gaps": GAPS, "silent": SILENT,
        "feeds": FEEDS, "busy_weekdays": BUSY_WEEKDAYS, "rests": RESTS, "zeros": ZEROS,
        "daily": DAILY,
    }  # fmt: skip
    for name, statement in statements.items():
        table = spark.sql(statement, days)
        # It is read eight times, and small.
        (table.cache() if name == "counts" else table).createOrReplaceTempView(name)
    return spark.table("daily")


def _moment(files: DataFrame) -> tuple[Column, Column]:
    at, kind = sf.col("ordered_at"), files.schema["ordered_at"].dataType
    if not isinstance(kind, StringType):
        # A timestamp with a zone is a moment in UTC; date and time without one are local.
        minutes = sf.lit(0 if isinstance(kind, TimestampType) else None).cast("int")
        return at.cast("timestamp_ntz"), sf.when(at.isNotNull(), minutes)
    body = sf.regexp_extract(_text("ordered_at"), ISO_8601, 1)
    zone = sf.regexp_extract(_text("ordered_at"), ISO_8601, 2)
    padded = sf.concat(
        body, sf.substr(sf.lit("0000-00-00 00:00:00"), sf.length(body) + 1)
    )
    digits = sf.rpad(sf.regexp_replace(zone, r"\D", ""), 4, "0")
    minutes = digits.substr(1, 2).cast("int") * 60 + digits.substr(3, 2).cast("int")
    signed = sf.when(zone.startswith("-"), -minutes).otherwise(minutes)
    return padded.try_cast("timestamp_ntz"), sf.when(zone != "", signed)


def _text(name: str) -> Column:
    trimmed = sf.regexp_replace(sf.col(name).cast("string"), SPACE, "")
    return sf.nullif(trimmed, sf.lit("")).alias(name)


def _reason(name: str) -> Column:
    text = sf.col(name)
    return (
        sf.when(text.isNull(), f"{name} is empty")
        .when(sf.length(text) > MAX_TEXT_CHARS,
              f"{name} is longer than {MAX_TEXT_CHARS} characters")
        .when(text.contains("\0"), f"{name} holds a NUL character")
    )  # fmt: skip


def _reason_of_moment() -> Column:
    local, minutes = sf.col("ordered_local"), sf.col("utc_offset_minutes")
    day = sf.to_date(local)
    in_range = day.between(sf.lit(date(1990, 1, 1)), sf.date_add(sf.current_date(), 2))
    return (
        sf.when(sf.col("ordered_at").isNull(), "ordered_at is empty")
        .when(local.isNull() | (sf.abs(minutes) > MAX_UTC_OFFSET_MINUTES),
              "ordered_at does not match the format ISO 8601")
        .when(~in_range, "ordered_at lies before 1990 or more than two days ahead")
    )  # fmt: skip


def _require_columns(table: DataFrame, path: str, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        sys.exit(
            f"{path} has no column {', '.join(missing)} (found: "
            f"{', '.join(table.columns)}). Write it under this name."
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("orders", help="folder or bucket with Parquet files of orders")
    parser.add_argument("depots", help="depots in Parquet or CSV")
    parser.add_argument("daily", help="a new folder for the counts")
    parser.add_argument("rejected", help="a new folder for rows that cannot be read")
    parser.add_argument("--through", type=date.fromisoformat, required=True,
                        help="the last day; it must be over at every depot")  # fmt: skip
    parser.add_argument("--since", type=date.fromisoformat, default=date(1990, 1, 1),
                        help="the first day that is written")  # fmt: skip
    parser.add_argument("--timezone", help="of depots that DEPOTS does not have")
    return parser


if __name__ == "__main__":
    main()
