"""Cells are parsed to values, or rejected with a reason."""

# ruff: noqa: DTZ001 - wall-clock times, as files have them

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows.conventions import detect_date_order
from pipelines.ingest.rows.file_schemas import SCHEMAS
from pipelines.ingest.rows.parsing import ParseOptions
from tests.pipelines.ingest.ingesting import TODAY

NO_DATE = "does not match the format ISO 8601"
OUTSIDE = "lies outside 1990-01-01 to 2026-06-03"
TOO_LARGE = "is larger in magnitude than 1,000,000,000,000,000"
SEPARATOR = "is accepted as thousands separator, or '.' with --decimal ','"
NO_ZONE = "is not an IANA time zone such as Europe/Amsterdam; CET, EET, MET and WET are not accepted"
NO_COUNTRY = "is not an ISO 3166 country of two letters, such as NL"


def read(kind, column, *cells, date_format=None):
    """Values of each stored column, and the reason of each rejected cell."""
    texts = pa.array(cells, pa.string())
    parsed = SCHEMAS[kind].column(column).parse(texts, ParseOptions(TODAY, date_format))
    return [values.to_pylist() for values in parsed.values], parsed.reasons.to_pylist()


@pytest.mark.parametrize(
    ("written", "local", "offset"),
    [
        ("2014-01-01T10:00:00", (2014, 1, 1, 10), None),
        ("2014-01-01 00:14", (2014, 1, 1, 0, 14), None),
        ("2014-01-01", (2014, 1, 1), None),
        ("2014-01-01T10:00:00Z", (2014, 1, 1, 10), 0),
        ("2014-01-01T10:00:00z", (2014, 1, 1, 10), 0),
        ("2014-07-01T10:00+02:00", (2014, 7, 1, 10), 120),
        ("2014-07-01T10:00-0330", (2014, 7, 1, 10), -210),
        ("2014-07-01 10:00:00 +05", (2014, 7, 1, 10), 300),
        # Nanoseconds are cut.
        ("2014-07-01T10:00:00.123456789", (2014, 7, 1, 10, 0, 0, 123456), None),
        # The last moment of the day after tomorrow.
        ("2026-06-03T23:59:59", (2026, 6, 3, 23, 59, 59), None),
    ],
)
def test_a_moment_keeps_its_wall_clock_time_and_its_offset(written, local, offset):
    local = datetime(*local)
    assert read("orders", "ordered_at", written) == ([[local], [offset]], [None])
    # The result is the same next to cells that cannot be parsed.
    neighbours = ("soon", "2014-02-30T00:00", "3000-01-01", written)
    values, reasons = read("orders", "ordered_at", *neighbours)
    assert (values[0][3], values[1][3], reasons[3]) == (local, offset, None)
    assert reasons[:3] == [NO_DATE, NO_DATE, OUTSIDE]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("2014-02-30T10:00:00", NO_DATE),
        ("10:33", NO_DATE),
        ("2014-01-01T10:00:00+25:00", NO_DATE),
        ("2014-01-01T10:00:00+01:60", NO_DATE),
        ("3000-01-01T00:00:00", OUTSIDE),
        ("1989-12-31T23:59:59", OUTSIDE),
        ("2026-06-04T00:00:00", OUTSIDE),
    ],
)
def test_a_moment_that_cannot_be_is_refused(written, reason):
    assert read("orders", "ordered_at", written)[1] == [reason]


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
    parsed = SCHEMAS["orders"].column("ordered_at").parse(times, ParseOptions(TODAY))
    assert parsed.reasons.to_pylist() == [OUTSIDE, OUTSIDE, None]


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
    ("written", "date_format", "day", "reason"),
    [
        ("2024-02-29", None, (2024, 2, 29), None),
        ("2024-02-29 00:00:00", None, (2024, 2, 29), None),
        ("2023-02-29", None, None, NO_DATE),
        ("2024-02-29T10:00", None, None, "has a time of day, but a date is expected"),
        ("2026-06-04", None, None, OUTSIDE),
        ("1/9/2015", "%m/%d/%Y", (2015, 1, 9), None),
        ("01/09/2015", "%d/%m/%Y", (2015, 9, 1), None),
        ("13.01.2015", "%d.%m.%Y", (2015, 1, 13), None),
        ("13-1-2015", "%d-%m-%Y", (2015, 1, 13), None),
        ("13 Jan 2015", "%d %b %Y", (2015, 1, 13), None),
        ("20150113", "%Y%m%d", (2015, 1, 13), None),
        ("2015-01-13", "%m/%d/%Y", (2015, 1, 13), None),
        ("02/31/2015", "%m/%d/%Y", None, "does not match the format %m/%d/%Y"),
        ("2015-01-13", "%Y%m%d", (2015, 1, 13), None),
        ("2015/01/13", "%Y%m%d", None, "does not match the format %Y%m%d"),
    ],
)
def test_a_day_may_be_in_the_format_that_was_said(written, date_format, day, reason):
    day = day and date(*day)
    assert read("daily", "date", written, date_format=date_format) == (
        [[day]],
        [reason],
    )


def test_events_may_lie_five_years_ahead():
    assert read("events", "starts_on", "2031-05-30")[1] == [None]
    assert "lies outside" in read("events", "starts_on", "2031-06-30")[1][0]


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
        ("1 000", None, f"is not a number: only ',' {SEPARATOR}"),
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
        ("1e16", None, TOO_LARGE),
        # As a float it would be infinite.
        ("1e400", None, TOO_LARGE),
        # Too many digits to hold in memory or to round.
        ("-1e1000000", None, TOO_LARGE),
        ("9" * 100_000, None, TOO_LARGE),
        ("inf", None, "is not a number"),
    ],
)
def test_a_value_of_a_signal(written, value, reason):
    assert read("signals", "value", written) == ([[value]], [reason])


@given(st.integers(0, 1_000_000_000))
def test_a_count_with_commas_is_the_count_without(number):
    assert read("daily", "orders", f"{number:,}", str(number))[0][0] == [number] * 2


@pytest.mark.parametrize(
    ("column", "written", "value", "reason"),
    [
        ("timezone", "CEST", None, NO_ZONE),
        ("timezone", "localtime", None, NO_ZONE),
        ("timezone", "Europe/Amsterdam", "Europe/Amsterdam", None),
        ("country", "nl", "NL", None),
        ("country", "Belgium", None, NO_COUNTRY),
        ("country", "XX", None, NO_COUNTRY),
        ("closed_weekdays", "sun,sat", "{6,7}", None),
        ("closed_weekdays", "Monday; Sunday", "{1,7}", None),
        (
            "closed_weekdays",
            "sat,holidays",
            None,
            "holds 'holidays', which is not a weekday such as sat or sun",
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
    mostly_iso = pa.array(["2015-01-13", "2015-01-14", "1/2/2015"])
    assert detect_date_order([mostly_iso], "") is None
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
