"""Types of the `--json` output of each command, as `deploy/docs/json.md` shows them.

Keys may be added; a key that stands here is always there. Rows of tables have the columns
of `pipelines.schema`, so a column that is renamed is renamed in the answer.
"""

from collections.abc import Iterator
from dataclasses import fields
from datetime import date, datetime
from typing import Any, Literal, NotRequired

import sqlalchemy as sa
from typer._click.globals import get_current_context
from typing_extensions import TypedDict, get_type_hints

from pipelines import pruning, schema
from pipelines.backfill import BackfillResult
from pipelines.backfill.decisions import Decision
from pipelines.database.roles import RoleGrants
from pipelines.ingest.load.replay import ReplayResult
from pipelines.ingest.load.report import Counts
from pipelines.store import events
from pipelines.store.depots import KnownDepot
from pipelines.store.files import LoadedFile
from pipelines.store.quarantine import QuarantinedRow
from pipelines.training.train import TrainedModel

Timestamp, Day = datetime, date


def _row(name: str, table: sa.Table, **more: Any) -> Any:
    """The columns of a table, and further keys."""
    columns = {column.name: _type(column) for column in table.columns}
    return TypedDict(name, columns | more)


def _type(column: sa.Column[Any]) -> Any:
    of_json = isinstance(column.type, sa.JSON)
    python_type = Any if of_json else column.type.python_type
    return python_type | None if column.nullable and not of_json else python_type


def _record(name: str, source: type, **more: Any) -> Any:
    """The fields of a dataclass, and further keys."""
    hints = get_type_hints(source)
    columns = {field.name: hints[field.name] for field in fields(source)}
    return TypedDict(name, columns | more)


def _object(name: str, **keys: Any) -> Any:
    """An object with these keys."""
    return TypedDict(name, keys)


def _extended(name: str, source: Any, **more: Any) -> Any:
    """The keys of another object, and further keys."""
    return TypedDict(name, get_type_hints(source, include_extras=True) | more)


Run = _row("Run", schema.runs)
Model = _row("Model", schema.models)
LogLine = _row("LogLine", schema.run_lines, step=str)
Origin = _record("Origin", Decision)
Backfill = _record("Backfill", BackfillResult, origins=list[Origin])
File = _record("File", LoadedFile)
Depot = _record("Depot", KnownDepot, flags=list[str])
Event = _record("Event", events.Event)
RejectedRow = _record("RejectedRow", QuarantinedRow)
Role = _record("Role", RoleGrants)
ReplayedRows = _record("ReplayedRows", ReplayResult)
RowCounts = _record("RowCounts", Counts)
Training = _record("Training", TrainedModel, promoted=bool, reason=str)
PrunedArtefacts = _record("PrunedArtefacts", pruning.PrunedArtefacts)
DeletedForecasts = _record("DeletedForecasts", pruning.DeletedForecasts)
DroppedOrders = _record("DroppedOrders", pruning.DroppedOrders)


IngestedFile = _object(
    "IngestedFile",
    path=str,
    kind=str | None,
    state=str,
    accepted=int,
    unchanged=int,
    rejected=int,
    error=NotRequired[str],
)
Ingested = _object(
    "Ingested",
    files=list[IngestedFile],
    orders=RowCounts,
    daily=RowCounts,
    depots=RowCounts,
    events=RowCounts,
    signals=RowCounts,
)
Forecast = _object(
    "Forecast",
    depot_id=str,
    origin_on=Day,
    target_on=Day,
    p10=float,
    p50=float,
    p90=float,
    point=float,
    planned=float,
    model_version=str,
)
ForecastHour = _object(
    "ForecastHour",
    depot_id=str,
    origin_on=Day,
    target_on=Day,
    starts_at=Timestamp,
    hour=int,
    p10=float,
    p50=float,
    p90=float,
    point=float,
    planned=float,
    model_version=str,
)
RunningDay = _object(
    "RunningDay",
    city=str,
    target_on=Day,
    until_hour=float,
    depots=int,
    is_whole=bool,
    orders_so_far=float,
    usual_share=float,
    forecast=float,
    estimate=float,
    p10=float,
    p90=float,
)
Scores = _object(
    "Scores",
    mape=float | None,
    wape=float | None,
    bias=float | None,
    mase=float | None,
    coverage80=float | None,
    days=int,
)
SegmentScores = _extended(
    "SegmentScores",
    Scores,
    depot=NotRequired[str],
    city=NotRequired[str],
    horizon=NotRequired[int],
    weekday=NotRequired[str],
    kind=NotRequired[str],
    model=str,
)
WrittenFile = _object("WrittenFile", path=str, rows=int)
ExportedScores = _extended("ExportedScores", WrittenFile, first_on=Day, last_on=Day)
WarmedUp = _object("WarmedUp", trained_through=Day)
"""The answer of `train --warm-up`, which only compiles."""
HelperProcess = _object("HelperProcess", process=int, trained_through=Day)
"""The answer of `train` in a process that is not the first."""
Backtest = _object(
    "Backtest",
    horizon=int,
    holdout_days=int,
    stride=int,
    origins=list[Day],
    trained_through=Day,
    depots=int,
    train_seconds=float,
    models=dict[str, Scores],
    by=NotRequired[dict[str, list[SegmentScores]]],
    forecasts=NotRequired[WrittenFile],
)
Night = _object(
    "Night", origin=Day, run_id=int, unpublished=str | None, steps=dict[str, Any]
)
LiveScores = _object(
    "LiveScores",
    segment=str | int | list[str | int],
    mape=float | None,
    naive_mape=float | None,
    median_mape=float | None,
    wape=float | None,
    bias=float | None,
    coverage80=float | None,
    days=int,
)
LiveAnswer = TypedDict(
    "LiveAnswer",
    {
        "by": str,
        "days": int | None,
        "from": Day | None,
        "to": Day | None,
        "scored_days": int,
        "overall": LiveScores | None,
        "scores": list[LiveScores],
    },
)
ForecastPart = _object("ForecastPart", part=str, orders=float, percent=float | None)
ExplainedDay = _object(
    "ExplainedDay", target_on=Day, basis=str, planned=float, parts=list[ForecastPart]
)
ExplainedForecast = _object(
    "ExplainedForecast",
    depot_id=str,
    origin_on=Day,
    model_version=str,
    days=list[ExplainedDay],
)
RunWithSteps = _object("RunWithSteps", run=Run, steps=list[Run])
RunWithLines = _extended("RunWithLines", RunWithSteps, lines=list[LogLine])
Withdrawn = _object(
    "Withdrawn",
    files=list[File],
    removed=int,
    restored=int,
    depots=int,
    frozen_before=Day | None,
)
Champion = _object("Champion", champion=str, reason=str, shown_from=date | None)
Finding = _object("Finding", check=str, ok=bool, message=str)
SentNotification = _object("SentNotification", channel=str, error=str | None)
Address = _object("Address", url=str)
NextNight = _object("NextNight", next=Timestamp)
Schedule = _extended(
    "Schedule",
    NextNight,
    next_utc=Timestamp,
    next_origin=Day | None,
    timezone=str,
    due_now=Day | None,
    scheduler_runs=bool,
    last_night=Any,
)
SchemaStatus = _object("SchemaStatus", found=str | None, wanted=str, current=bool)
SchemaCheck = _object("SchemaCheck", same=bool)
PrunedAll = _object(
    "PrunedAll",
    artefacts=PrunedArtefacts,
    forecasts=DeletedForecasts | None,
    orders=DroppedOrders | None,
)
Backup = _object(
    "Backup", backup=str, bytes=int, missing=dict[str, str], removed=list[str]
)
Restored = _object(
    "Restored", backup=str, rows=int, artefacts=int, missing=dict[str, str]
)
Stage = _object("Stage", stage=str, seconds=float, outcome=str)
Demo = _object("Demo", stages=list[Stage])
TpuCheck = _object(
    "TpuCheck",
    topology=str,
    cores=int,
    batch_size=int,
    compile_seconds=float,
    bytes_per_core=int,
    hbm_bytes_per_core=int,
    collectives=dict[str, int],
    largest_batch=int,
)

ANSWERS: dict[str, Any] = {
    "demo": Demo,
    "ingest": Ingested,
    "train": Training | WarmedUp | HelperProcess,
    "backtest": Backtest,
    "forecast": list[Forecast] | list[ForecastHour] | list[RunningDay],
    "explain": ExplainedForecast,
    "nightly": Night,
    "backfill": Backfill,
    "dashboard": Address,
    "watch": Address,
    "doctor": list[Finding],
    "tpu-check": TpuCheck,
    "schedule run": NextNight,
    "schedule show": Schedule,
    "runs list": list[Run],
    "runs show": RunWithLines,
    "runs follow": RunWithSteps,
    "models list": list[Model],
    "models show": Model,
    "models live": LiveAnswer,
    "models promote": Champion,
    "models rollback": Champion,
    "scores export": ExportedScores,
    "files list": list[File],
    "files withdraw": Withdrawn,
    "events list": list[Event],
    "events withdraw": Event,
    "depots list": list[Depot],
    "quarantine list": list[RejectedRow],
    "quarantine show": RejectedRow,
    "quarantine replay": ReplayedRows,
    "notifications test": list[SentNotification],
    "db upgrade": SchemaStatus,
    "db roles": list[Role],
    "db status": SchemaStatus,
    "db check": SchemaCheck,
    "db prune": PrunedAll,
    "db url": Address,
    "backup create": Backup,
    "backup restore": Restored,
}
"""Types by command, without `harbor`."""

WORDS = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Timestamp: "timestamp",
    Day: "day",
    type(None): "null",
    list: "list",
    Any: "any JSON",
}


def current_command() -> str:
    """The command that is running, without `harbor`; empty if there is none."""
    context, names = get_current_context(silent=True), []
    # The program's own name depends on how the tests were started.
    while context is not None and context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return " ".join(names)


def describe_type(kind: Any) -> str:
    """A type in words."""
    inside = getattr(kind, "__args__", ())
    origin = getattr(kind, "__origin__", None)
    if kind in WORDS:
        words = WORDS[kind]
    elif origin is Literal:
        words = "one of " + ", ".join(f"`{value}`" for value in inside)
    elif origin is NotRequired:
        words = f"{describe_type(inside[0])}; may be missing"
    elif origin is list or inside[1:] == (...,):
        words = f"list of {describe_type(inside[0])}"
    elif origin is dict:
        words = f"object of {describe_type(inside[1])} by name"
    elif inside:
        words = " or ".join(describe_type(each) for each in inside)
    else:
        words = f"[{kind.__name__}](#{kind.__name__.lower()})"
    return words


def records(kind: Any) -> Iterator[Any]:
    """The named objects that a type consists of, itself first."""
    for inside in getattr(kind, "__args__", ()):
        yield from records(inside)
    if hasattr(kind, "__required_keys__"):
        yield kind
        for each in get_type_hints(kind).values():
            yield from records(each)


def page() -> str:
    """Every answer and every object in it, as Markdown tables."""
    lines = ["| command | answer |", "|---|---|"]
    lines += [
        f"| `harbor {name}` | {describe_type(each)} |" for name, each in ANSWERS.items()
    ]
    named = {
        record.__name__: record for each in ANSWERS.values() for record in records(each)
    }
    for name, record in sorted(named.items()):
        hints = get_type_hints(record, include_extras=True)
        lines += ["", f"## {name}", "", "| key | value |", "|---|---|"]
        lines += [f"| `{key}` | {describe_type(each)} |" for key, each in hints.items()]
    return "\n".join(lines) + "\n"
