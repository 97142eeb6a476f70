"""The views that other systems and analysts read: a stable interface.

A column listed here keeps its name, type and meaning; columns may be added. The
migrations create the views with their comments, and the role `harbor_reader` may read them and
nothing else.
"""

from dataclasses import dataclass

from pipelines.schema.closures import CLOSURES, is_closed
from pipelines.schema.planned_orders import PLANNED_FORECASTS, PLANNED_PARTS

FORECASTS = f"""
select f.depot_id, d.city, f.origin_on, f.target_on, f.target_on - f.origin_on as horizon,
       f.p10, f.p50, f.p90, f.point, planned.point as planned, f.basis, f.model_version,
       f.is_live, f.made_at
from forecasts f
join depots d using (depot_id)
join ({PLANNED_FORECASTS}) planned using (depot_id, origin_on, target_on, model_version)
"""
"""The forecasts of `:origin` by `:model`."""

TOTALS = f"""
select coalesce(d.city, '') as city, f.origin_on, f.target_on,
       f.target_on - f.origin_on as horizon,
       case when grouping(d.city) = 1 then min(f.fleet_p10) else min(f.city_p10) end as p10,
       sum(f.model_part) as p50,
       case when grouping(d.city) = 1 then min(f.fleet_p90) else min(f.city_p90) end as p90,
       sum(f.part) as planned, f.model_version
from ({PLANNED_PARTS}) f
join depots d using (depot_id)
join forecast_totals t on (t.city, t.origin_on, t.target_on, t.model_version)
                        = ('', f.origin_on, f.target_on, f.model_version)
group by f.origin_on, f.target_on, f.model_version, rollup (d.city)
having grouping(d.city) = 1 or d.city <> ''
"""
"""The totals of `:origin` by `:model`, as the pages show them."""

SCORES = """
select s.depot_id, d.city, s.origin_on, s.target_on, s.target_on - s.origin_on as horizon,
       s.actual, s.p10, s.p50, s.p90, s.point, s.seasonal_naive, s.median4,
       s.model_version, s.is_live,
       s.is_live and exists (
           select from live_forecasts l
           where (l.origin_on, l.model_version) = (s.origin_on, s.model_version)
       ) as is_shown
from scores s join depots d using (depot_id)
"""
SCORES_OF_ORIGIN = f"{SCORES} where s.origin_on = :origin"


EVERY_DAY = f"""
with closures as ({CLOSURES}), counted as not materialized (
    select * from demand_versions where superseded_at is null and {{condition}}
), firsts as (select depot_id, min(service_on) as first_on from counted group by depot_id)
select d.depot_id, d.city, day_on::date as service_on, v.orders,
       v.orders is not null as is_observed, {is_closed("day_on::date")} as is_closed, v.known_at
from firsts
join depots d using (depot_id)
cross join lateral generate_series(
    first_on::timestamp, (select max(service_on) from counted), interval '1 day') as day_on
left join counted v on (v.depot_id, v.service_on) = (d.depot_id, day_on::date)
"""
"""Demand of each depot and day, from its first counted day to the fleet's last.

`{condition}` limits the counted days. They are not materialized, so that a filter by depot can use
the index.
"""


@dataclass(frozen=True)
class ReaderView:
    """A view of the interface.

    Attributes:
      statement: Query of the view.
      comment: Description of a row.
      columns: Description of each column, in the order of the columns.
    """

    statement: str
    comment: str
    columns: dict[str, str]


def _of_shown_forecast(statement: str) -> str:
    """Binds a statement to the forecast that the pages show when the view is read."""
    for name, column in ((":origin", "origin_on"), (":model", "model_version")):
        statement = statement.replace(name, f"(select {column} from shown_forecast)")
    return statement


DEPOT = {
    "depot_id": "the depot",
    "city": "its city; `Unassigned` where no file has named it",
}
ORIGIN = {
    "origin_on": "origin: the last day whose orders the forecast has seen",
    "target_on": "the day that is forecast, the depot's local service day",
    "horizon": "days from the origin to it, from 1",
}
BAND = {
    "p10": "lower bound of the 80 % interval, orders",
    "p50": "median, orders; vans are planned from it",
    "p90": "upper bound of the 80 % interval, orders",
}
POINT = {"point": "the model's number that is shown and scored, orders"}
MODEL = {"model_version": "the model, as in `harbor models list`"}

READER_VIEWS = {
    "latest_forecasts": ReaderView(
        _of_shown_forecast(FORECASTS),
        "The forecast that the pages show now: a row for each depot and day ahead.",
        {
            **DEPOT, **ORIGIN, **BAND, **POINT,
            "planned": "the planner's number where there is one, else the point, orders",
            "basis": "`model`: from the depot's own history; `cold_start`: from its city's "
            "depots; `closed`: it is shut, and every number is 0",
            **MODEL,
            "is_live": "made within 36 hours of the end of its origin",
            "made_at": "when the run that made it began",
        },
    ),
    "latest_totals": ReaderView(
        _of_shown_forecast(TOTALS),
        "The same forecast as totals: a row for each city, and for the fleet, and day ahead.",
        {
            "city": "the city; empty for the whole fleet",
            **ORIGIN, **BAND,
            "planned": "the total with the planners' numbers in it, orders",
            **MODEL,
        },
    ),
    "daily_scores": ReaderView(
        SCORES,
        "Forecasts whose actual is known: a row for each depot, origin, day ahead and model.",
        {
            **DEPOT, **ORIGIN,
            "actual": "orders that came, as counted now",
            **BAND, **POINT,
            "seasonal_naive": "the same weekday of the week before the origin, orders; null "
            "where none is known",
            "median4": "median of the last four same weekdays, orders; null as before",
            **MODEL,
            "is_live": "false for a hindcast, which was made later",
            "is_shown": "it was shown on the morning after its origin: these rows are what "
            "`harbor models live` adds up",
        },
    ),
    "daily_demand": ReaderView(
        EVERY_DAY.format(condition="true"),
        "Orders as counted now: a row for each depot and day, from its first to the fleet's last.",
        {
            **DEPOT,
            "service_on": "the depot's local service day",
            "orders": "orders; null where the day was not observed, which is not 0",
            "is_observed": "whether the day's orders are known",
            "is_closed": "the depot was announced to be shut; the day is not scored",
            "known_at": "since when this count is known; null where no file has named the day",
        },
    ),
}  # fmt: skip
"""Views by name, in the order of their creation."""


def create_statements() -> list[str]:
    """Returns the statements that create the views, with their comments."""
    statements = []
    for name, view in READER_VIEWS.items():
        statements += [
            f"create view {name} as {view.statement}",
            f"comment on view {name} is {_quoted(view.comment)}",
        ]
        statements += [
            f"comment on column {name}.{column} is {_quoted(comment)}"
            for column, comment in view.columns.items()
        ]
    return statements


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
