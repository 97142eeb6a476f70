"""Writes what a pipeline leaves behind: nights, files, quarantine, verdicts."""

from datetime import UTC, date, datetime, time, timedelta

import sqlalchemy as sa

from pipelines import schema
from pipelines.nightly import steps
from tests.dashboard.seed import CHAMPION

STEPS = tuple(steps.STEPS)
REFUSAL = "counts.csv is not of a known kind. Rename its columns."
BEFORE, REFUSED = "20251210-before", "20251220-refused"


def seed_pipeline(engine: sa.Engine, through: date) -> None:
    """Three nights (one failed), a load by hand, two files, four models.

    Args:
      engine: With the fleet of `seed`.
      through: Of that fleet.
    """
    with engine.begin() as connection:
        for back in (2, 1, 0):
            _night(connection, through - timedelta(days=back), failed=back == 1)
        _files(connection, through)
        _models(connection, through)
        connection.execute(sa.text(TOTALS), {"origin": through})


TOTALS = """
insert into forecast_totals
select coalesce(city, ''), origin_on, target_on, model_version,
       0.92 * sum(p50), 1.02 * sum(p50), 1.08 * sum(p50),
       count(*) filter (where basis <> 'closed')
from forecasts
where origin_on = :origin
group by grouping sets ((origin_on, target_on, model_version),
                        (city, origin_on, target_on, model_version))
"""


def _night(connection: sa.Connection, origin: date, failed: bool) -> None:
    begins = datetime.combine(origin + timedelta(days=1), time(4, 30), UTC)
    metrics = {"origin": origin.isoformat(), "late_depots": 1}
    parent = add_run(connection, "nightly", origin, begins, 125.0, metrics, failed)
    for number, step in enumerate(
        STEPS[: STEPS.index("train") + 1] if failed else STEPS
    ):
        broke = failed and step == "train"
        metrics_of_step = {
            "demand": {"new": 6, "corrected": 0},
            "score": {"scored": 42},
            "accuracy": {
                "mape": 0.099,
                "coverage": 0.719,
                "naive_mape": 0.125,
                "worse_days": 0,
            },
            "forecast": {"late_depots": 1, "late_cities": {"London": 1}},
            "hours": {"has_hours": True},
        }
        at = begins + timedelta(seconds=15 * number)
        step_metrics = {} if broke else metrics_of_step.get(step, {})
        add_run(connection, step, origin, at, 12.5, step_metrics, broke, parent)


def add_run(
    connection: sa.Connection,
    step: str,
    origin: date | None,
    begins: datetime,
    seconds: float,
    metrics: dict[str, object],
    failed: bool = False,
    parent: int | None = None,
) -> int:
    """A run that has ended; gives its number."""
    ends = begins + timedelta(seconds=seconds)
    values = {
        "step": step, "origin_on": origin, "parent_id": parent, "started_at": begins,
        "finished_at": ends, "metrics": metrics,
        "state": "failed" if failed else "done",
        "error": "The disk is full. Make room and run 'harbor nightly'." if failed else None,
    }  # fmt: skip
    inserted = sa.insert(schema.runs).values(values).returning(schema.runs.c.run_id)
    return int(connection.execute(inserted).scalar_one())


def _files(connection: sa.Connection, through: date) -> None:
    came = datetime.combine(through + timedelta(days=1), time(4, 30), UTC)
    add_run(connection, "ingest", None, came - timedelta(hours=3), 4.2, {"files": 1})
    by_hand = add_run(connection, "ingest", None, came - timedelta(hours=4), 1.0, {})
    add_line(connection, by_hand, "counts.csv", came, REFUSAL)
    for name, rejected in (("orders-1.csv", 0), ("orders-2.csv", 3)):
        file_id = connection.execute(
            sa.insert(schema.files)
            .values(
                path=f"/data/inbox/{name}", sha256=name, options_sha256="plain", kind="orders",
                accepted=1200, unchanged=4, rejected=rejected,
                ignored_columns=["colour"] if rejected else [], loaded_at=came,
            )
            .returning(schema.files.c.file_id)
        ).scalar_one()  # fmt: skip
        for number in range(rejected):
            reason = "is no moment" if number < 2 else "names no depot"
            connection.execute(
                sa.insert(schema.quarantine).values(
                    file_id=file_id, line=10 + number, column_name="ordered_at",
                    value="=cmd()" if number == 0 else "32.13.2025", reason=reason,
                    raw={},
                )
            )  # fmt: skip


def add_line(
    connection: sa.Connection, run_id: int, path: str, at: datetime, reason: str | None
) -> None:
    """Adds the log line of a file; it was refused if there is a reason."""
    fields = {"state": "refused", "reason": reason} if reason else {"state": "loaded"}
    connection.execute(
        sa.insert(schema.run_lines).values(
            run_id=run_id, written_at=at, level="info", event="file",
            fields={"path": path} | fields,
        )
    )  # fmt: skip


def _models(connection: sa.Connection, through: date) -> None:
    models = schema.models
    connection.execute(
        sa.update(models)
        .where(models.c.version == CHAMPION)
        .values(
            scores=scores(through, 8.1), promoted_at=sa.func.now(),
            decision_reason="It beats the seasonal naive: MAPE 8.10 % against 12.00 %.",
        )
    )  # fmt: skip
    others = (
        (BEFORE, "retired", 40, 8.6, "It is the first model."),
        (REFUSED, "rejected", 30, 12.9, "It does not beat the seasonal naive."),
    )
    for version, role, back, mape, reason in others:
        made = datetime.combine(through - timedelta(days=back), time(5), UTC)
        connection.execute(
            sa.insert(models).values(
                version=version, role=role, decision_reason=reason, created_at=made,
                promoted_at=made if role == "retired" else None,
                trained_through=through - timedelta(days=back), seed=0,
                data_watermark="seeded", filename=f"{version}.npz", sha256="unwritten",
                scores=scores(through - timedelta(days=back), mape),
            )
        )  # fmt: skip


def scores(last: date, mape: float) -> dict[str, object]:
    """As a training keeps them with its model; percentages."""
    rest = {"wape": 7.0, "bias": -1.2, "mase": 0.61, "coverage80": 0.79, "days": 684}
    naive = rest | {"mape": 12.0, "mase": 1.0, "coverage80": None}
    return {
        "first_origin": (last - timedelta(days=27)).isoformat(),
        "last_origin": last.isoformat(),
        "models": {"gru": rest | {"mape": mape}, "seasonal_naive": naive},
    }
