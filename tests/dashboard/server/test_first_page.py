"""What the dashboard reads before it answers `harbor watch`."""

import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.queries import database
from dashboard.server import first_page

pytestmark = pytest.mark.db


def test_the_first_pages_queries_are_sent_and_not_again_within_seconds(seeded):
    freshness = queries.freshness()
    queries.daily_totals("", freshness), queries.fleet_week(freshness)
    first_page._read_first_page.clear()
    sent = []
    note = sa.event.listens_for(database.engine(), "before_cursor_execute")
    note(lambda _c, _cursor, statement, *_: sent.append(statement))
    for _ in range(2):
        assert first_page.answer(None).status_code == 200
    selects = [each for each in sent if "from" in each]
    assert len(selects) == 3, "of a page that is cached, each once"
