"""What is told of the nights, and in which words."""

from datetime import UTC, date, datetime, timedelta

import pytest

from pipelines.monitoring.notifications.rules import Known, NightOver, decide

DAY = date(2026, 6, 9)
NOW = datetime(2026, 6, 10, 9, tzinfo=UTC)
SILENCE = timedelta(hours=26)
HOUR = timedelta(hours=1)


def night(run_id, origin=DAY, hours_ago=4.0, error=""):
    return NightOver(run_id, origin, NOW - hours_ago * HOUR, error)


@pytest.mark.parametrize(
    ("done", "failed", "told", "expected"),
    [
        pytest.param(night(3), None, None, [], id="all is well"),
        pytest.param(None, None, None, [], id="no night ever began"),
        pytest.param(
            night(3, DAY - timedelta(days=1)), night(4), None, ["failure:2026-06-09:0:e3b0c442"],
            id="the last failed",
        ),
        pytest.param(night(5), night(4), "failure", ["recovery:5"], id="it was repeated"),
        pytest.param(night(5), night(4), None, [], id="nobody knew that it failed"),
        pytest.param(night(5), night(4), "recovery", [], id="told of already"),
        pytest.param(
            night(5, DAY - timedelta(days=9)), night(4), "failure",
            ["failure:2026-06-09:0:e3b0c442"], id="an older night does not make it good",
        ),
        pytest.param(
            night(3, hours_ago=27), None, None, ["silence:3"], id="none came since"
        ),
        pytest.param(night(3, hours_ago=25.9), None, None, [], id="not yet silence"),
        pytest.param(
            None, night(2, hours_ago=27), None,
            ["failure:2026-06-09:0:e3b0c442", "silence:0"], id="none was ever done",
        ),
        pytest.param(
            night(5), night(4, origin=None), "silence", ["recovery:5"],
            id="it failed before it knew its day",
        ),
    ],
)  # fmt: skip
def test_what_is_told(done, failed, told, expected):
    first = None if done is failed is None else NOW - 27 * HOUR
    found = decide(Known(done, failed, first, told), NOW, SILENCE)
    assert [notice.key for notice in found] == expected
    assert all(notice.key.startswith(notice.kind) for notice in found)


def key_of(failed, done=None):
    return decide(Known(done, failed, None, None), NOW, SILENCE)[0].key


def test_a_second_failure_of_a_night_is_told_where_it_is_news():
    first = key_of(night(4, error="The disk is full."))
    again = night(5, error="The disk is full.")
    assert key_of(again) == first
    # An older night that is caught up with meanwhile changes nothing.
    older = night(3, DAY - timedelta(days=1))
    assert key_of(again, older) == first
    # It fails of something else; or as before, after it had worked.
    other = key_of(night(6, error="There is no model."))
    assert other != first
    assert key_of(night(8, error="The disk is full."), done=night(7)) not in {
        first,
        other,
    }


def test_a_sentence_says_which_night_what_and_what_to_do():
    failed = night(4, error="The disk is full. Make room.")
    (failure,) = decide(Known(None, failed, None, None), NOW, SILENCE)
    assert failure.message == (
        "The night of 2026-06-09 failed (run 4, 2026-06-10 05:00 UTC): The disk is full. "
        "Make room."
    )
    (silence,) = decide(Known(night(3, hours_ago=40), None, None, None), NOW, SILENCE)
    assert "40 hours; the last was that of 2026-06-09, run 3" in silence.message
    assert "'harbor schedule show'" in silence.message
