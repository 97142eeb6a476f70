"""The options offered for a file whose names are strange."""

import re
import shlex

import pytest

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows import column_suggestions
from pipelines.ingest.rows.file_schemas import SCHEMAS
from pipelines.ingest.rows.kind_detection import detect_mapping
from pipelines.ingest.rows.options import FileOptions

STRANGE = {
    "as a city publishes them": (
        ["Base Number", "Base Name", "Pick Up Date", "Number of Trips", "Vehicles"],
        ("daily", "Base Number", "Pick Up Date", "Number of Trips"),
    ),
    "in camel case": (
        ["orderNumber", "shopId", "createdAt", "amount"],
        ("orders", "orderNumber", "shopId", "createdAt"),
    ),
    "trips with two ends": (
        ["Trip ID", "Start Time", "End Time", "Start Station"],
        ("orders", "Trip ID", "Start Station", "Start Time"),
    ),
}


@pytest.mark.parametrize("case", STRANGE)
def test_what_is_offered_loads_when_it_is_copied(case):
    header, (kind, *names) = STRANGE[case]
    with pytest.raises(RefusedFileError) as refusal:
        detect_mapping(header, FileOptions(), "strange.csv")
    offered = re.search(r"if it is (\w+): (.*)\.$", str(refusal.value))
    assert offered is not None, refusal.value
    assert offered[1] == kind
    pairs = [each.split("=", 1) for each in shlex.split(offered[2])[1::2]]
    mapping = detect_mapping(header, FileOptions(columns=dict(pairs)), "strange.csv")
    assert mapping.schema.name == kind
    assert [mapping.names[column] for column in SCHEMAS[kind].required_columns] == names


@pytest.mark.parametrize("header", [["a", "b", "c"], [""], [], ["date", "name"]])
def test_nothing_is_offered_where_names_tell_nothing(header):
    assert column_suggestions.suggest(header, list(SCHEMAS.values())) is None
