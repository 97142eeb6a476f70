"""Cells are parsed to values, or rejected with a reason."""

# ruff: noqa: DTZ001 - wall-clock times, as files have them

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows.conventions import detect_date_order
from pipelines.ingest.rows.file_schemas import SCHEMAS
from pipelines.ingest.rows.parsing import ParseOptions

TODAY = date(2026, 6, 1)


def read(kind, column, *cells, date_format=None):
    """Values of each stored column, and the reason of each rejected cell."""
    texts = cells[0] if isinstance(cells[0], pa.Array) else pa.array(cells, pa.string())
    parsed = SCHEMAS[kind].column(column).parse(texts, ParseOptions(TODAY, date_format))
    return [values.to_pylist() for values in parsed.values], parsed.reasons.to_pylist()


@pytest.mark.parametrize(
    ("written", "local", "offset"),
    [
        pytest.param(
            "2014-01-01T00:14:00", datetime(2014, 1, 1, 0, 14), None, id="naive"
        ),
        pytest.param(
            "2014-01-01 00:14", datetime(2014, 1, 1, 0, 14), None, id="minutes"
        ),
        pytest.param("2014-01-01", datetime(2014, 1, 1), None, id="a bare day"),
        pytest.param("2014-01-01T10:00:00Z", datetime(2014, 1, 1, 10), 0, id="UTC"),
        pytest.param("2014-01-01T10:00:00z", datetime(2014, 1, 1, 10), 0, id="utc"),
        pytest.param(
            "2014-07-01T10:00+02:00", datetime(2014, 7, 1, 10), 120, id="east"
        ),
        pytest.param(
            "2014-07-01T10:00-0330", datetime(2014, 7, 1, 10), -210, id="west"
        ),
        pytest.param(
            "2014-07-01 10:00:00 +05", datetime(2014, 7, 1, 10), 300, id="hours"
        ),
        pytest.param(
            "2014-07-01T10:00:00.123456789",
            datetime(2014, 7, 1, 10, 0, 0, 123456),
            None,
            id="nanoseconds are cut",
        ),
    ],
)
def test_a_moment_keeps_its_wall_clock_time_and_its_offset(written, local, offset):
    assert read("orders", "ordered_at", written) == ([[local], [offset]], [None])
    # The result is the same next to cells that cannot be parsed.
    neighbours = ("soon", "2014-02-30T00:00", "3000-01-01", written)
    values, reasons = read("orders", "ordered_at", *neighbours)
    assert (values[0][3], values[1][3], reasons[3]) == (local, offset, None)
    assert reasons[:3] == [
        "does not match the format ISO 8601",
        "does not match the format ISO 8601",
        "lies outside 1990-01-01 to 2026-06-03",
    ]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("2014-02-30T10:00:00", "does not match the format ISO 8601"),
        ("10:33", "does not match the format ISO 8601"),
        ("2014-01-01T10:00:00+25:00", "does not match the format ISO 8601"),
        ("3000-01-01T00:00:00", "lies outside 1990-01-01 to 2026-06-03"),
        ("1989-12-31T23:59:59", "lies outside 1990-01-01 to 2026-06-03"),
        ("2026-06-04T00:00:00", "lies outside 1990-01-01 to 2026-06-03"),
    ],
)
def test_a_moment_that_cannot_be_is_refused(written, reason):
    assert read("orders", "ordered_at", written)[1] == [reason]


def test_the_last_moment_of_the_day_after_tomorrow_is_taken():
    assert read("orders", "ordered_at", "2026-06-03T23:59:59")[1] == [None]


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_number_of_another_unit_does_not_wrap_to_a_day_that_could_be(unit, zone):
    # As microseconds in 64 bits, it would wrap to the year 2024 again.
    per_unit = {"s": 10**6, "ms": 1000}[unit]
    wanted = int(datetime(2024, 3, 1, 9, tzinfo=UTC).timestamp()) * 10**6
    wrong = next(
        (wanted + turns * 2**64) // per_unit
        for turns in range(1, 20_000)
        if (wanted + turns * 2**64) % per_unit == 0
    )
    times = pa.array([wrong, -wrong, None], pa.int64()).cast(pa.timestamp(unit, zone))
    column = SCHEMAS["orders"].column("ordered_at")
    assert column.parse(times, ParseOptions(TODAY, None)).reasons.to_pylist() == [
        "lies outside 1990-01-01 to 2026-06-03",
        "lies outside 1990-01-01 to 2026-06-03",
        None,
    ]


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2026, 6, 3)),
    st.none() | st.integers(-18 * 60, 18 * 60),
)
def test_moments_agree_with_the_standard_library(moment, offset):
    written = moment.isoformat()
    if offset is not None:
        sign = "-" if offset < 0 else "+"
        written += f"{sign}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    assert read("orders", "ordered_at", written) == ([[moment], [offset]], [None])


@pytest.mark.parametrize(
    ("written", "day", "reason"),
    [
        pytest.param("2024-02-29", date(2024, 2, 29), None, id="a leap day"),
        pytest.param("2024-02-29 00:00:00", date(2024, 2, 29), None, id="a midnight"),
        pytest.param("2023-02-29", None, "does not match the format ISO 8601", id="no"),
        pytest.param(
            "2024-02-29T10:00",
            None,
            "has a time of day, but a date is expected",
            id="a time of day",
        ),
        pytest.param(
            "2026-06-04", None, "lies outside 1990-01-01 to 2026-06-03", id="ahead"
        ),
    ],
)
def test_a_day(written, day, reason):
    assert read("daily", "date", written) == ([[day]], [reason])


def test_events_may_lie_five_years_ahead():
    assert read("events", "starts_on", "2031-05-30")[1] == [None]
    assert "lies outside" in read("events", "starts_on", "2031-06-30")[1][0]


@pytest.mark.parametrize(
    ("date_format", "written", "day"),
    [
        ("%m/%d/%Y", "1/9/2015", date(2015, 1, 9)),
        ("%d/%m/%Y", "01/09/2015", date(2015, 9, 1)),
        ("%d.%m.%Y", "13.01.2015", date(2015, 1, 13)),
        ("%d-%m-%Y", "13-1-2015", date(2015, 1, 13)),
        ("%d %b %Y", "13 Jan 2015", date(2015, 1, 13)),
        ("%Y%m%d", "20150113", date(2015, 1, 13)),
        ("%m/%d/%Y", "2015-01-13", date(2015, 1, 13)),
    ],
)
def test_a_date_in_a_format_that_was_said(date_format, written, day):
    assert read("daily", "date", written, date_format=date_format) == ([[day]], [None])


def test_a_date_in_another_format_than_was_said_is_refused():
    _, reasons = read("daily", "date", "02/31/2015", date_format="%m/%d/%Y")
    assert reasons == ["does not match the format %m/%d/%Y"]
    _, reasons = read("daily", "date", "2015-01-13", date_format="%Y%m%d")
    assert reasons == ["does not match the format %Y%m%d"]


@pytest.mark.parametrize(
    ("date_format", "written", "moment"),
    [
        ("%m/%d/%Y", "1/9/2015 9:05", datetime(2015, 1, 9, 9, 5)),
        ("%d/%m/%Y", "13/01/2015 19:05:07", datetime(2015, 1, 13, 19, 5, 7)),
        ("%d %b %Y", "13 Jan 2015 19:05", datetime(2015, 1, 13, 19, 5)),
        ("%m/%d/%Y %I:%M %p", "01/13/2015 07:05 PM", datetime(2015, 1, 13, 19, 5)),
    ],
)
def test_a_moment_in_a_format_that_was_said(date_format, written, moment):
    values, reasons = read("orders", "ordered_at", written, date_format=date_format)
    assert (values[0], reasons) == ([moment], [None])


@pytest.mark.parametrize(
    ("written", "count", "reason"),
    [
        ("0", 0, None),
        ("1,137", 1137, None),
        ("1,234,567", 1234567, None),
        ("26.0", 26, None),
        ("1e+06", 1_000_000, None),
        ("-3", None, "is negative"),
        ("2.5", None, "is not a whole number"),
        ("1.137", None, "is not a whole number"),
        ("11,37", None, "is not a number"),
        ("1_000", None, "is not a number"),
        ("many", None, "is not a number"),
        (
            "1 000",
            None,
            (
                "is not a number: only ',' is accepted as thousands separator, or '.' with "
                "--decimal ','"
            ),
        ),
        ("nan", None, "is not a number"),
        ("9999999999", None, "is more than 1,000,000,000"),
    ],
)
def test_a_count(written, count, reason):
    assert read("daily", "orders", written) == ([[count]], [reason])


@pytest.mark.parametrize(
    ("written", "value", "reason"),
    [
        ("-1e15", -1e15, None),
        ("1e16", None, "is larger than 1,000,000,000,000,000, either way"),
        # As a float it would be infinite.
        ("1e400", None, "is larger than 1,000,000,000,000,000, either way"),
        # Too many digits to hold in memory or to round.
        ("-1e1000000", None, "is larger than 1,000,000,000,000,000, either way"),
        ("9" * 100_000, None, "is larger than 1,000,000,000,000,000, either way"),
        ("inf", None, "is not a number"),
    ],
)
def test_a_value_of_a_signal(written, value, reason):
    assert read("signals", "value", written) == ([[value]], [reason])


@given(st.integers(0, 1_000_000_000))
def test_a_count_with_commas_is_the_count_without(number):
    assert read("daily", "orders", f"{number:,}", f"{Decimal(number)}")[0][0] == [
        number,
        number,
    ]


@pytest.mark.parametrize(
    ("column", "written", "value", "reason"),
    [
        ("timezone", "Europe/Brussels", "Europe/Brussels", None),
        ("timezone", "CEST", None, "is not an IANA time zone such as Europe/Amsterdam"),
        (
            "timezone",
            "localtime",
            None,
            "is not an IANA time zone such as Europe/Amsterdam",
        ),
        ("timezone", "Europe/Amsterdam", "Europe/Amsterdam", None),
        ("country", "nl", "NL", None),
        (
            "country",
            "Belgium",
            None,
            "is not an ISO 3166 country of two letters, such as NL",
        ),
        (
            "country",
            "XX",
            None,
            "is not an ISO 3166 country of two letters, such as NL",
        ),
        ("closed_weekdays", "sun,sat", "{6,7}", None),
        ("closed_weekdays", "Monday; Sunday", "{1,7}", None),
        (
            "closed_weekdays",
            "sat,holidays",
            None,
            "holds 'holidays', which is no weekday such as sat or sun",
        ),
        ("vans", "4", 4, None),
        ("vans", "-1", None, "is negative"),
        ("depot_id", "x" * 201, "x" * 201, "is longer than 200 characters"),
        ("depot_id", "a\0b", "a\0b", "holds a NUL character"),
    ],
)
def test_what_describes_a_depot(column, written, value, reason):
    assert read("depots", column, written) == ([[value]], [reason])


@pytest.mark.parametrize(
    ("batches", "date_format", "proof"),
    [
        ([["01/02/2015"], ["01/13/2015", None]], "%m/%d/%Y", "01/13/2015"),
        ([["13.01.2015", "01.02.2015"]], "%d.%m.%Y", "13.01.2015"),
        ([["1/31/2015 10:00"]], "%m/%d/%Y", "1/31/2015 10:00"),
        ([["99/99/2015", "01/13/2015"]], "%m/%d/%Y", "01/13/2015"),
    ],
)
def test_one_day_past_the_twelfth_proves_the_order(batches, date_format, proof):
    found = detect_date_order((pa.array(one) for one in batches), "x.csv")
    assert (found.value, found.proof) == (date_format, proof)


def test_dates_that_are_mostly_iso_have_no_order_to_find():
    assert (
        detect_date_order([pa.array(["2015-01-13", "2015-01-14", "1/2/2015"])], "")
        is None
    )
    assert detect_date_order([], "x.parquet") is None


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (["01/02/2015", "03/04/2015"], "nothing in it says"),
        (["13/01/2015", "01/13/2015"], "13/01/2015 puts the day first and 01/13/2015"),
    ],
)
def test_an_order_that_nothing_proves_is_asked_for(written, why):
    with pytest.raises(RefusedFileError, match=why) as refused:
        detect_date_order([pa.array(written)], "x.csv")
    assert "--date-format %m/%d/%Y" in str(refused.value)
    assert "--date-format %d/%m/%Y" in str(refused.value)
