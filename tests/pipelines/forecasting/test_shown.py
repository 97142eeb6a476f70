"""Which forecast is shown, who may make it, and that live accuracy scores the same."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dashboard.queries.freshness import FRESHNESS
from forecaster.errors import ArtefactError, NoModelError, NothingToDoError
from pipelines.demand import counting
from pipelines.demand.panels import read_panel
from pipelines.nightly import steps
from pipelines.nightly.steps import NightlyContext
from pipelines.runs.ledger import recorded
from pipelines.schema import daily_counts, models
from pipelines.settings import Settings
from pipelines.store import models as model_store
from pipelines.store import order_counts
from pipelines.store.accuracy import Period
from pipelines.training import manual_promotion
from tests.conftest import empty_tables
from tests.make import make_artefact
from tests.pipelines.make import (
    LAST,
    add_counts,
    count_fleet,
    forecast_from,
    judge,
    live_scores,
    query,
    save_model,
    score_known_days,
)

DEPOTS = ("A0", "A1")
GOOD = {"gru": 6.0, "seasonal_naive": 9.0}


def days_before(n):
    return LAST - timedelta(days=n)


@dataclass
class Fleet:
    """Two depots, their models, and a clock that stands at half past four after a day."""

    engine: sa.Engine
    settings: Settings
    now: datetime = datetime.combine(LAST + timedelta(days=1), time(4, 30), UTC)
    versions: dict[str, str] = field(default_factory=dict)

    def add_model(
        self, name, through, role="challenger", spoil=lambda made: made, **mapes
    ):
        made = make_artefact(read_panel(self.engine, through), seed=len(self.versions))
        made = spoil(made)
        folder = self.settings.artefacts
        scores = {"models": {key: {"mape": own} for key, own in (GOOD | mapes).items()}}
        save_model(self.engine, made, folder, role=role, scores=scores)
        self.versions[name] = made.version

    def promote(self, name):
        return manual_promotion.promote(
            self.engine, self.settings, self.versions[name], "for the test", self.now,
            unchecked=True,
        )  # fmt: skip

    def roll_back(self):
        return manual_promotion.roll_back(self.engine, self.settings, "bad", self.now)

    def forecast(self, origin=None):
        origin = origin or counting.default_origin(self.engine)
        artefacts, zone = self.settings.artefacts, self.settings.zone
        with recorded(self.engine, "forecast", origin) as run:
            version = forecast_from(self.engine, artefacts, origin, self.now, zone, run)
        return version, run.metrics.get("reason")

    def load(self, day, orders=70):
        with self.engine.begin() as connection:
            add_counts(connection, DEPOTS, [day], orders)
            order_counts.mark_all(connection)
        counting.rebuild(self.engine, self.now)

    def withdraw(self, day):
        with self.engine.begin() as connection:
            of_day = daily_counts.c.service_on == day
            connection.execute(sa.delete(daily_counts).where(of_day))
            order_counts.mark_all(connection)
        counting.rebuild(self.engine, self.now)

    def shown(self):
        """Origin and model of the forecast that the pages show."""
        with self.engine.connect() as connection:
            row = connection.execute(sa.text(FRESHNESS)).one()
        return row.origin_on, row.model_version

    def scored(self):
        """Depot-days that live accuracy scores, by model, as `harbor models live` lists them."""
        score_known_days(self.engine)
        rows = live_scores(self.engine, ("model",), Period(1000))
        return {row["segment"]: row["days"] for row in rows}

    def prune(self, name):
        by_version = models.c.version == self.versions[name]
        query(
            self.engine, sa.update(models).where(by_version).values(pruned_at=self.now)
        )


def make_fleet(engine: sa.Engine, home: Path) -> Fleet:
    fleet = Fleet(engine, Settings(home=home))
    count_fleet(engine, n_depots=len(DEPOTS))
    return fleet


@pytest.fixture
def fleet(clean_engine, tmp_path):
    return make_fleet(clean_engine, tmp_path)


@pytest.fixture
def withdrawn(fleet):
    """The champion has seen the last day, which was withdrawn; a former one has not."""
    fleet.add_model("former", days_before(5))
    fleet.promote("former")
    fleet.add_model("champion", LAST)
    fleet.promote("champion")
    fleet.forecast()
    fleet.withdraw(LAST)
    return fleet


def numberless(made):
    weights = {name: np.full_like(each, np.nan) for name, each in made.weights.items()}
    return replace(made, weights=weights)


@pytest.mark.parametrize("role", ["rejected", "evaluation", "challenger"])
def test_a_model_that_was_never_champion_makes_no_forecast_that_is_shown(
    withdrawn, role
):
    withdrawn.add_model("never", days_before(1), role)
    assert withdrawn.forecast() == (withdrawn.versions["former"], None)
    # It replaces the forecast that was made from the withdrawn rows.
    assert withdrawn.shown() == (days_before(1), withdrawn.versions["former"])
    # A hindcast, which is not shown, may be made with it if it was not turned down.
    withdrawn.load(LAST)
    made_by = withdrawn.versions["former" if role == "rejected" else "never"]
    assert withdrawn.forecast(days_before(1))[0] == made_by
    assert withdrawn.shown() == (days_before(1), withdrawn.versions["former"])


def test_where_no_former_champion_may_forecast_the_earlier_forecast_is_shown_again(
    fleet,
):
    fleet.add_model("former", days_before(5))
    fleet.promote("former")
    fleet.withdraw(LAST)
    fleet.forecast()
    fleet.load(LAST)
    fleet.add_model("champion", LAST)
    fleet.promote("champion")
    fleet.forecast()
    fleet.withdraw(LAST)
    fleet.prune("former")
    fleet.add_model("rejected", days_before(1), "rejected")
    former = fleet.versions["former"]
    version, reason = fleet.forecast()
    assert version == former
    assert reason == (
        f"Every champion whose artefact is kept has seen days after {days_before(1)}, so "
        f"the earlier forecast from there, by model {former}, is shown again."
    )
    assert fleet.shown() == (days_before(1), former)
    fleet.withdraw(days_before(1))
    with pytest.raises(NoModelError, match=rf"harbor train --through {days_before(2)}"):
        fleet.forecast()


@pytest.fixture
def lost(fleet):
    """The champion's file is gone; a former champion's is there."""
    for name, days in (("former", 5), ("champion", 1)):
        fleet.add_model(name, days_before(days))
        fleet.promote(name)
    champion = f"{fleet.versions['champion']}.npz"
    (fleet.settings.artefacts / champion).unlink()
    return fleet


def test_a_former_champion_forecasts_if_the_champion_s_file_is_lost(lost):
    former = lost.versions["former"]
    version, reason = lost.forecast()
    assert version == former
    assert lost.versions["champion"] in reason
    assert reason.endswith(f" Former champion {former} made the forecast.")
    assert lost.shown() == (LAST, former)


@pytest.mark.parametrize("naive", [5.0, 9.0], ids=["worse", "better"])
def test_with_the_champion_s_file_lost_the_next_model_is_not_compared_with_it(
    lost, naive
):
    champions = {"champion": 4.0, "earlier_champion": 5.95}
    lost.add_model("new", LAST, seasonal_naive=naive, **champions)
    decision = judge(lost.engine, lost.settings.artefacts)
    assert decision.promoted is (naive > 6), decision.reason
    name = "new" if decision.promoted else "former"
    assert lost.forecast()[0] == lost.versions[name]


def test_a_champion_that_saw_withdrawn_days_still_counts_if_a_former_one_s_file_is_lost(
    fleet,
):
    for name, days in (("older", 8), ("former", 5), ("champion", 0)):
        fleet.add_model(name, days_before(days))
        fleet.promote(name)
    fleet.withdraw(LAST)
    (fleet.settings.artefacts / f"{fleet.versions['former']}.npz").unlink()
    fleet.add_model("new", days_before(1), champion=4.0)
    decision = judge(fleet.engine, fleet.settings.artefacts)
    assert not decision.promoted
    assert "worse than the champion" in decision.reason
    assert fleet.forecast()[0] == fleet.versions["older"]


def test_without_any_champion_s_file_the_error_is_of_the_champion_s(lost):
    former = f"{lost.versions['former']}.npz"
    (lost.settings.artefacts / former).unlink()
    with pytest.raises(ArtefactError, match=lost.versions["champion"]):
        lost.forecast()


@pytest.mark.parametrize(
    ("spoil", "is_promoted"),
    [(lambda made: made, True), (numberless, False)],
    ids=["its canary passes", "its canary fails"],
)
def test_after_a_withdrawal_the_newest_model_is_judged_although_it_is_older(
    withdrawn, spoil, is_promoted
):
    withdrawn.add_model("new", days_before(1), spoil=spoil)
    decision = judge(withdrawn.engine, withdrawn.settings.artefacts)
    assert decision.promoted is is_promoted, decision.reason
    name = "new" if is_promoted else "former"
    assert withdrawn.forecast() == (withdrawn.versions[name], None)
    assert withdrawn.shown() == (days_before(1), withdrawn.versions[name])


def test_promote_forecast_and_roll_back(fleet):
    fleet.add_model("A", days_before(2))
    fleet.add_model("B", days_before(1))
    assert fleet.promote("A").shown_from is None
    fleet.forecast()
    # B has no forecast yet: the pages go on showing A's.
    assert fleet.promote("B").shown_from is None
    assert fleet.shown() == (LAST, fleet.versions["A"])
    # So that B's is the one that was made last.
    fleet.now += timedelta(minutes=10)
    fleet.forecast()
    assert fleet.shown() == (LAST, fleet.versions["B"])
    assert fleet.roll_back().shown_from == LAST
    assert fleet.shown() == (LAST, fleet.versions["A"])
    fleet.now += timedelta(days=1)
    fleet.load(LAST + timedelta(days=1))
    assert fleet.scored() == {fleet.versions["A"]: len(DEPOTS)}
    # What is shown when the outcome can be known does not change what was shown before.
    assert fleet.promote("B").shown_from == LAST
    assert fleet.shown() == (LAST, fleet.versions["B"])
    assert fleet.scored() == {fleet.versions["A"]: len(DEPOTS)}


def test_history_that_is_run_late_is_shown_and_not_live(fleet):
    fleet.add_model("A", LAST)
    fleet.promote("A")
    fleet.now += timedelta(days=200)
    fleet.forecast()
    assert fleet.shown() == (LAST, fleet.versions["A"])
    fleet.load(LAST + timedelta(days=1))
    assert fleet.scored() == {}


def test_a_night_trains_anew_under_other_settings(fleet, monkeypatch):
    from pipelines.training import train

    trained = []

    def note(run, settings, through, recipe, *_):
        trained.append(recipe)
        fleet.add_model(f"v{len(trained)}", through)
        run.metrics["model"] = fleet.versions[f"v{len(trained)}"]

    monkeypatch.setattr(train, "train", note)

    def night(**changes):
        settings = fleet.settings.model_copy(update=changes)
        context = NightlyContext(fleet.engine, settings, fleet.now, LAST)
        with recorded(fleet.engine, "nightly", LAST) as parent:
            for name in ("demand", "train"):
                with recorded(fleet.engine, name, LAST, parent=parent) as run:
                    steps.STEPS[name].work(context, run)
        return run.metrics["model"]

    first = night()
    assert night() == first
    others = [night(seed=1), night(horizon=9), night(point="volume")]
    assert len({first, *others}) == len(trained) == 4
    assert night(seed=1) == others[0]


STEPS = ("forecast", "promote A", "promote B", "roll back", "next day", "withdraw", "load",
         "wait")  # fmt: skip


@hypothesis_settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(names=st.lists(st.sampled_from(STEPS), min_size=4, max_size=9))
def test_the_pages_and_live_accuracy_agree_whatever_happens(
    clean_engine, tmp_path, names
):
    """Against a plain list of what was published."""
    empty_tables(clean_engine)
    fleet = make_fleet(clean_engine, tmp_path)
    fleet.add_model("A", days_before(4))
    fleet.add_model("B", days_before(1))
    fleet.promote("A")
    published = Published(fleet)
    for name in ("forecast", *names, "wait", "next day"):
        published.do(name)
        assert fleet.shown() == published.log[-1][:2]
        with clean_engine.connect() as connection:
            assert model_store.champion(connection)["promoted_at"] is not None
    assert fleet.scored() == published.scored()


@dataclass
class Published:
    """What was published so far: origin, model, and whether it counts as live."""

    fleet: Fleet
    log: list[tuple[date, str, bool]] = field(default_factory=list)
    stored: dict[tuple[date, str], bool] = field(default_factory=dict)
    last: date = LAST
    withdrawn: bool = False

    def do(self, name):
        fleet = self.fleet
        match name:
            case "forecast":
                version, _ = fleet.forecast()
                key = (self.last, version)
                self.stored[key] = self.stored.get(key, False) or self.is_live()
                self.log.append((*key, self.is_live()))
            case "promote A" | "promote B":
                self.show(fleet.promote(name[-1]))
            case "roll back":
                try:
                    self.show(fleet.roll_back())
                except NothingToDoError:
                    return
            case "next day":
                self.last += timedelta(days=1)
                fleet.now = max(fleet.now, self.night_after())
                fleet.load(self.last)
            case "withdraw" if self.last > days_before(3):
                fleet.withdraw(self.last)
                self.last -= timedelta(days=1)
            case "load" if fleet.now >= self.night_after() + timedelta(days=1):
                self.last += timedelta(days=1)
                fleet.load(self.last)
            case "wait":
                fleet.now += timedelta(hours=20)

    def show(self, champion):
        origin, shown, _ = self.log[-1]
        stored = self.stored.get((origin, champion.version))
        if champion.version != shown and stored is not None:
            live = stored and self.is_live() and origin == self.last
            self.log.append((origin, champion.version, live))
        is_shown = self.log[-1][1] == champion.version
        assert champion.shown_from == (origin if is_shown else None)

    def night_after(self):
        return datetime.combine(self.last + timedelta(days=1), time(4, 30), UTC)

    def is_live(self):
        ended = datetime.combine(self.last + timedelta(days=1), time(), UTC)
        return self.fleet.now <= ended + timedelta(hours=36)

    def scored(self):
        live = {origin: version for origin, version, is_live in self.log if is_live}
        days = Counter()
        for origin, version in live.items():
            days[version] += max(0, min(7, (self.last - origin).days)) * len(DEPOTS)
        return {version: n for version, n in days.items() if n}
