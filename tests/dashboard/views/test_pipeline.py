"""The pages Models and Pipeline, and their queries, over a seeded ledger."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.text import formatting
from pipelines import schema
from tests.dashboard.seed import CHAMPION
from tests.dashboard.seed_pipeline import (
    BEFORE,
    REFUSAL,
    REFUSED,
    STEPS,
    add_line,
    add_run,
    seed_pipeline,
)
from tests.dashboard.views.test_pages import assert_no_traceback, page_text

pytestmark = pytest.mark.db

A_DAY = timedelta(days=1)


@pytest.fixture
def worked(seeded, clean_engine):
    seed_pipeline(clean_engine, seeded.through)
    return queries.freshness()


def test_the_models_page_states_the_reason_of_each_decision(worked, write, open_page):
    """The champion comes first, and no evaluation model; a rollback is to the last champion."""
    seen = ("trained_through", "data_watermark", "filename", "sha256", "seed")
    m = schema.models.c
    [row] = queries.models(worked)[lambda each: each["version"] == BEFORE].to_dict(
        "records"
    )
    older = dict.fromkeys(seen, "") | {
        "trained_through": row["trained_through"].date(), "seed": 0, "version": "older",
        "role": "retired", "scores": {}, "created_at": datetime(2020, 1, 1, tzinfo=UTC),
    }  # fmt: skip
    write(sa.insert(schema.models).values(older))
    write(sa.update(schema.models).where(m.version == "older").values(promoted_at=None))
    models = queries.models(queries.freshness())
    assert models["version"].tolist() == [CHAMPION, REFUSED, BEFORE, "older"]
    app = open_page("models")
    assert_no_traceback(app)
    text = page_text(app)
    assert ">In use</td>" in text, "its test says the rest"
    assert "8.10 %" not in text, "the table has it, once"
    assert "Turned down. It does not beat same day last week<" in text
    assert "seasonal naive" not in text
    assert "sha256" not in text


def test_without_a_champion_the_page_says_how_to_choose_one(worked, write, open_page):
    write(sa.update(schema.models).values(role="rejected"))
    app = open_page("models")
    assert_no_traceback(app)
    text = page_text(app)
    assert "No model is in use, so no forecasts will be made" in text
    assert "harbor models promote VERSION" in text


def test_runs_are_newest_first_each_followed_by_its_steps(worked):
    runs = queries.runs()
    assert runs["step"].tolist()[0] == "ingest"
    nights = runs[runs["step"] == "nightly"]
    assert nights["run_id"].is_monotonic_decreasing
    assert nights["state"].tolist() == ["done", "failed", "done"]
    newest = runs[runs["parent_id"] == nights["run_id"].iloc[0]]
    assert newest["step"].tolist() == list(STEPS)
    assert newest["seconds"].tolist() == [12.5] * len(STEPS)


def test_a_refused_file_is_listed_until_it_is_fixed_or_removed(seeded, clean_engine):
    now = datetime.now(UTC)

    def load(night, back, files):
        begun = now - back * A_DAY
        with clean_engine.begin() as connection:
            parent = (
                add_run(connection, "nightly", None, begun, 9.0, {}) if night else None
            )
            step = add_run(connection, "ingest", None, begun, 3.0, {}, parent=parent)
            for path, reason in files.items():
                add_line(connection, step, path, begun, reason)

    load(False, 15, {"long-ago.csv": "It is empty."})
    load(False, 9, {"by-hand.csv": "It is empty.", "mended.csv": "It is empty."})
    load(True, 2, {"/in/taken-away.csv": "No kind.", "/in/still.csv": "No kind."})
    load(False, 2, {"mended.csv": None})
    load(True, 1, {"/in/still.csv": "No kind at all.", "/in/fine.csv": None})

    files = queries.files(queries.freshness())
    listed = files[["path", "refused_because"]].to_numpy().tolist()
    assert listed == [
        ["/in/still.csv", "No kind at all."],
        ["by-hand.csv", "It is empty."],
    ]


def test_rejected_rows_are_counted_by_file_and_reason_until_replayed(worked, write):
    rejected = queries.rejected_rows(worked)
    assert rejected[
        ["reason", "n_rows", "first_line", "value"]
    ].to_numpy().tolist() == [
        ["is no moment", 2, 10, "=cmd()"],
        ["names no depot", 1, 12, "32.13.2025"],
    ]
    rows = schema.quarantine
    again = rows.c.reason == "is no moment"
    write(sa.update(rows).where(again).values(replayed_at=sa.func.now()))
    rejected = queries.rejected_rows(queries.freshness())
    assert rejected["reason"].tolist() == ["names no depot"]


def test_the_calendar_agrees_with_the_seeded_counts(worked, seeded):
    calendar = queries.calendar(worked).set_index("depot_id")
    counted = set(
        zip(seeded.demand["depot_id"], seeded.demand["service_on"], strict=True)
    )
    for depot_id, row in calendar.iterrows():
        for back, state in enumerate(reversed(row["states"])):
            day = seeded.through - back * A_DAY
            is_shut = depot_id == "RTM-02" and day.isoweekday() == 7
            expected = "closed" if is_shut else "missing"
            assert state == ("counted" if (depot_id, day) in counted else expected)
    assert set(calendar.index[:2]) == {"RTM-01", "LON-03"}
    assert (calendar["n_missing"] == 2).all()


def test_days_before_a_depots_first_count_are_not_missing(worked, seeded, write):
    versions = schema.demand_versions
    mine = versions.c.depot_id == "LON-02"
    write(sa.delete(versions).where(mine, versions.c.service_on < seeded.through))
    calendar = queries.calendar(queries.freshness()).set_index("depot_id")
    assert calendar.loc["LON-02", "states"] == ["before"] * 27 + ["counted"]


def test_a_day_that_is_not_over_at_a_depot_is_not_missing_there(
    worked, write, open_page
):
    """Between the two zones lie 26 hours, so that one is always a day behind the other."""
    here, there = "Etc/GMT-14", "Etc/GMT+12"
    depots, versions = schema.depots, schema.demand_versions
    for city, zone in (("Rotterdam", here), ("London", there)):
        write(sa.update(depots).where(depots.c.city == city).values(timezone=zone))
    # What is due is told by the clock, not by when days were counted last.
    write(sa.update(schema.runs).values(metrics=sa.text("metrics - 'new'")))
    running = datetime.now(ZoneInfo(there)).date()
    write(sa.delete(versions).where(versions.c.service_on >= running))
    row = {
        "depot_id": "RTM-01",
        "version": 1,
        "known_at": datetime(2020, 1, 1, tzinfo=UTC),
    }
    write(sa.insert(versions).values(**row, service_on=running, orders=400))
    freshness = queries.freshness()
    assert freshness.newest == running
    states = queries.calendar(freshness).set_index("depot_id")["states"]
    assert {states[depot][-1] for depot in ("LON-01", "LON-02", "LON-03")} == {"due"}
    assert states["RTM-03"][-1] == "missing"
    assert "… not due yet" in page_text(open_page("pipeline"))


def test_a_late_city_is_told_with_the_day_on_which_its_orders_came(
    worked, seeded, write, open_page
):
    versions = schema.demand_versions
    v = versions.c
    in_time = datetime(2020, 1, 1, tzinfo=UTC)
    write(sa.update(versions).values(recorded_at=in_time))
    queries.runs.clear()
    assert queries.runs()["late_came_at"].isna().all()
    assert_no_traceback(open_page("pipeline"))
    day = seeded.through - 2 * A_DAY
    came_at = datetime.now(UTC).replace(microsecond=0)
    is_late = (v.depot_id == "LON-02") & (v.service_on == day)
    write(sa.update(versions).where(is_late).values(recorded_at=came_at))
    queries.runs.clear()
    nights = queries.runs().query("step == 'nightly'").set_index("origin_on")
    assert nights["late_came_at"].dropna().to_dict() == {pd.Timestamp(day): came_at}
    shown = page_text(open_page("pipeline"))
    assert (
        f"Without the orders of London (1 depot), which came on {formatting.day(came_at)}."
        in shown
    )
    assert (
        "Off by 9.9 % (MAPE) on the days scored in the last 4 weeks, 71.9 % within the 80 % band"
        in shown
    )


def steps_of(app):
    """The table of the steps of a run."""
    [steps] = [e.proto.body for e in app.get("html") if '"Run steps"' in e.proto.body]
    return steps


def test_the_pipeline_page_shows_nights_files_and_rows(worked, open_page):
    app = open_page("pipeline")
    assert_no_traceback(app)
    shown = page_text(app)
    needed = "To do:\n- Load the missing orders of 2 depots, then run 'harbor nightly'.\n- Correct 1"
    assert needed in shown.replace("\\", "")
    assert "◐ partial" in shown
    assert "data complete" not in shown
    assert "Forecast" in steps_of(app), "those of the newest night"
    for text in (
        "✕ failed", "The disk is full.", "orders-2.csv", "is no moment",
        "Depots with missing days", REFUSAL, "deploy/docs/correct-a-file.md",
    ):  # fmt: skip
        assert text in shown, text


def test_each_night_leads_to_its_steps(worked, open_page):
    runs = queries.runs()
    nights = runs.loc[runs["step"] == "nightly", "run_id"]
    text = page_text(open_page("pipeline"))
    table = text[text.index('aria-label="Nightly runs"') :]
    table = table[: table.index("</table>")]
    assert re.findall('href="pipeline[?]run=([0-9]+)#steps-of-a-run"', table) == [
        *map(str, nights)
    ]


def test_a_run_in_the_url_is_shown_with_its_steps(worked, open_page):
    failed = queries.runs().query("step == 'nightly' and state == 'failed'")
    app = open_page("pipeline", run=str(failed["run_id"].iloc[0]))
    assert_no_traceback(app)
    assert "The disk is full." in steps_of(app)
    night = re.escape(f"run={failed['run_id'].iloc[0]}#")
    assert re.search(f'<tr aria-current="true"><th[^>]*><a[^>]*{night}', page_text(app))


def test_rejected_rows_are_shown_before_there_are_depots(
    dashboard, clean_engine, yesterday, open_page
):
    """The first load failed, so there is nothing but its traces."""
    with clean_engine.begin() as connection:
        file_id = connection.execute(
            sa.insert(schema.files)
            .values(
                path="orders.csv", sha256="a", options_sha256="a", kind="orders",
                accepted=0, unchanged=0, rejected=1, ignored_columns=[],
            )
            .returning(schema.files.c.file_id)
        ).scalar_one()  # fmt: skip
        connection.execute(
            sa.insert(schema.quarantine).values(
                file_id=file_id, line=2, reason="names no depot", raw={}
            )
        )
    app = open_page("pipeline")
    assert_no_traceback(app)
    assert "No depots yet" in app.info[0].value
    assert "names no depot" in page_text(app)


def test_before_the_first_run_the_page_names_the_commands(seeded, open_page):
    app = open_page("pipeline")
    assert_no_traceback(app)
    messages = " ".join(info.value for info in app.info)
    assert "`harbor nightly` runs one now" in messages
    assert "Load one with `harbor ingest PATH`" in messages


def test_a_failed_step_is_in_the_list_of_what_to_do_with_its_reason(
    worked, write, open_page
):
    nights = queries.runs().query("step == 'nightly'")
    later = nights["run_id"] > nights.loc[nights["state"] == "failed", "run_id"].max()
    is_later = schema.runs.c.run_id.in_(nights.loc[later, "run_id"].tolist())
    write(sa.update(schema.runs).where(is_later).values(state="skipped"))
    queries.runs.clear()
    shown = page_text(open_page("pipeline")).replace("\\", "")
    assert "No forecast was made in the night after" in shown
    assert re.search(r"To do:\n- Fix \w+, which failed in .+ The disk is full\.", shown)
