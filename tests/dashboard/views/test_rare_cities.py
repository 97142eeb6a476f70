"""Pages of depots that are closed for good, and settings of a city whose vans nobody knows."""

import pytest
import sqlalchemy as sa

from pipelines import schema
from tests.dashboard.planning.changing import settings_of
from tests.dashboard.views.test_plan import city_page, press, setting, sign, told

pytestmark = pytest.mark.db
LONDON, ROTTERDAM = ["LON-01", "LON-02", "LON-03"], ["RTM-01", "RTM-02", "RTM-03"]


@pytest.mark.parametrize(
    "closed", [LONDON[:1], LONDON, LONDON + ROTTERDAM], ids=["one", "city", "fleet"]
)
@pytest.mark.parametrize(
    "more", [{}, {"scenario": "promotion"}], ids=["page", "what-if"]
)
def test_the_page_of_a_depot_closed_for_good_opens(
    seeded, write, open_page, closed, more
):
    d, f = schema.depots, schema.forecasts
    write(sa.update(d).where(d.c.depot_id.in_(closed)).values(closed_on=seeded.through))
    is_its = f.c.depot_id.in_(closed) & (f.c.origin_on == seeded.through)
    none = {"basis": "closed", "p10": 0, "p50": 0, "p90": 0, "point": 0}
    write(sa.update(f).where(is_its).values(none))
    page = open_page("depot", depot="LON-01", **more)
    assert not page.exception
    assert not page.error


def test_the_level_of_a_city_whose_vans_nobody_knows_is_saved(seeded, open_page):
    """London's vans are not known: they stay so, as estimated ones stay estimated."""
    app = sign(city_page(open_page, "London", form="settings"), "Anna")
    setting(app, "Service level").set_value(75)
    app = press(app, "Save settings")
    assert "Saved: the settings of London" in told(app.success)
    after = settings_of("London")
    assert (after.vans, after.service_level, after.is_estimated) == (None, 0.75, True)
