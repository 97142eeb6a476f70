"""What if: the model that made the forecast, asked again on the CPU."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import whatif
from dashboard.whatif import Supposition
from forecaster import artefact, infer
from forecaster.errors import ArtefactError, NoModelError
from forecaster.features import CALENDAR_REACH
from forecaster.panel import build_panel
from pipelines import schema
from tests.dashboard.seed import (
    CHAMPION,
    HORIZON,
    make_depots,
    make_events,
    make_holidays,
)

pytestmark = pytest.mark.db


def of_whole_fleet(folder, seeded, events):
    """Forecasts of every depot by the champion, built without the dashboard."""
    [path] = folder.glob("*.npz")
    panel = build_panel(
        make_depots(), seeded.demand, events, make_holidays(seeded.through),
        seeded.through, HORIZON + CALENDAR_REACH,
    )  # fmt: skip
    made = infer.forecast(artefact.load(path), panel)
    return pd.DataFrame(made.p50_dh, index=panel.depot_ids)


def event(kind, day, depot):
    row = {"kind": kind, "starts_on": day, "ends_on": day, "depot_id": depot}
    return pd.DataFrame([row], columns=list(make_events(day).columns))


@pytest.mark.parametrize("kind", ["closed", "promotion"])
@pytest.mark.parametrize("depot", ["LON-01", "RTM-02"])
def test_a_supposition_is_the_fleets_forecast_with_one_more_event(
    dashboard, fresh, seeded, kind, depot
):
    day = seeded.through + timedelta(days=4)
    events = make_events(seeded.through)
    now = of_whole_fleet(dashboard, seeded, events)
    then = of_whole_fleet(
        dashboard, seeded, pd.concat([events, event(kind, day, depot)])
    )
    outcome = whatif.suppose(Supposition(depot, kind, day), fresh)
    np.testing.assert_allclose(outcome["forecast"], now.loc[depot], rtol=1e-5)
    np.testing.assert_allclose(outcome["supposed"], then.loc[depot], rtol=1e-5)
    assert outcome["target_on"].dt.date.tolist() == [
        seeded.through + timedelta(days=step) for step in range(1, 8)
    ]


def test_a_closed_day_has_no_orders(fresh, seeded):
    day = seeded.through + timedelta(days=4)
    outcome = whatif.suppose(Supposition("LON-01", "closed", day), fresh)
    assert outcome["supposed"].tolist()[3] == 0
    assert outcome["supposed_p90"].tolist()[3] == 0
    assert (outcome["forecast"] > 0).all()


def test_a_promotion_moves_its_day(fresh, seeded):
    day = seeded.through + timedelta(days=2)
    outcome = whatif.suppose(Supposition("RTM-01", "promotion", day), fresh)
    assert outcome["supposed"].iloc[1] != outcome["forecast"].iloc[1]


def test_nothing_is_written(fresh, seeded, clean_engine):
    day = seeded.through + timedelta(days=4)
    whatif.suppose(Supposition("LON-01", "closed", day), fresh)
    with clean_engine.connect() as connection:
        n_events = connection.scalar(
            sa.select(sa.func.count()).select_from(schema.events)
        )
    assert n_events == len(make_events(seeded.through))


def test_what_may_be_supposed_is_what_the_model_has_learnt(fresh):
    assert whatif.kinds(fresh) == ["closed", "promotion"]


def test_a_missing_artefact_is_told_with_what_to_do(dashboard, fresh):
    for path in dashboard.glob("*.npz"):
        path.unlink()
    with pytest.raises(ArtefactError, match=r"is not there.*harbor models promote"):
        whatif.load(fresh)


def test_a_corrupt_artefact_is_not_used(dashboard, fresh):
    [path] = dashboard.glob("*.npz")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ArtefactError, match="so it is not used"):
        whatif.load(fresh)


def test_another_whole_artefact_in_its_place_is_not_used(fresh, write):
    models = schema.models
    write(sa.update(models).values(sha256="0" * 64))
    with pytest.raises(ArtefactError, match="sha256 differs"):
        whatif.load(fresh)


def test_a_model_that_was_never_recorded_is_told(fresh, write):
    for table in (schema.scores, schema.forecasts):
        write(sa.delete(table))
    write(sa.delete(schema.models).where(schema.models.c.version == CHAMPION))
    with pytest.raises(NoModelError, match="is not recorded"):
        whatif.load(fresh)
