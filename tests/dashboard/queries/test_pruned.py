"""No page looks back further than the forecasts that are kept."""

from dashboard.components.score_filter import PERIODS
from pipelines.settings import Settings

LONGEST_HORIZON = 63


def test_no_page_looks_back_further_than_the_least_that_is_kept():
    metadata = Settings.model_fields["keep_forecasts_days"].metadata
    [least] = [each.ge for each in metadata if hasattr(each, "ge")]
    assert max(map(int, PERIODS)) + LONGEST_HORIZON < least
