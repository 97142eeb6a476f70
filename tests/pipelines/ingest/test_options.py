"""Sources of harbor.toml: which files belong to a source, and how they are read."""

from datetime import date

import pytest

from forecaster.errors import BadInputError
from pipelines.cli.doctor_findings import source_findings
from pipelines.ingest.load import FileOptions, ingest
from pipelines.ingest.rows.options import options_of_source
from pipelines.settings import Settings
from pipelines.settings.ingest import SourceSettings
from tests.pipelines.ingest import ingesting
from tests.pipelines.ingest.ingesting import SETTINGS, query, rows, write

NORTH = SourceSettings(
    pattern="north-*.csv",
    columns={"depot_id": "Depot", "date": "Dag", "orders": "Aantal"},
    date_format="%d/%m/%Y",
    encoding="cp1252",
    separator=";",
    decimal=",",
)
HEADER = "Depot;Dag;Aantal\n"


def load(engine, *paths, sources, **asked):
    """Loads files with these sources configured in harbor.toml."""
    settings = SETTINGS.model_copy(update={"sources": sources})
    return ingesting.load(engine, *paths, settings=settings, **asked).files


def files(engine):
    """Name and source of every loaded file."""
    found = query(engine, "select path, source from files")
    return {path.rsplit("/", 1)[-1]: source for path, source in found}


@pytest.mark.parametrize("day", ["05/11/2025", "13/11/2025"])
def test_a_file_is_read_as_the_source_whose_pattern_it_fits(
    clean_engine, tmp_path, day
):
    text = HEADER + f"Zürich;{day};1.000\n"
    path = write(tmp_path / "north-1.csv", text.encode("cp1252"))
    (file,) = load(clean_engine, path, sources={"north": NORTH})
    assert file.state == "loaded"
    day_on = date(2025, 11, int(day[:2]))
    assert rows(clean_engine, "daily_counts") == [("Zürich", day_on, 1000)]
    assert files(clean_engine) == {"north-1.csv": "north"}


def test_a_file_that_fits_no_pattern_is_of_the_default_source(clean_engine, tmp_path):
    path = write(tmp_path / "south.csv", "depot_id,date,orders\nA,2024-01-01,1\n")
    load(clean_engine, path, sources={"north": NORTH})
    assert files(clean_engine) == {"south.csv": "default"}


def test_a_source_may_be_named_and_options_go_before_what_it_says(
    clean_engine, tmp_path
):
    path = write(tmp_path / "other.csv", HEADER + "A;2025-11-05;7\n")
    asked = {"source": "north", "date_format": "%Y-%m-%d"}
    (file,) = load(clean_engine, path, sources={"north": NORTH}, **asked)
    assert file.state == "loaded"
    assert files(clean_engine) == {"other.csv": "north"}


def test_a_pattern_may_name_a_folder(clean_engine, tmp_path):
    (tmp_path / "north").mkdir()
    path = write(tmp_path / "north" / "1.csv", HEADER + "A;05/11/2025;7\n")
    source = NORTH.model_copy(update={"pattern": "north/*.csv"})
    (file,) = load(clean_engine, tmp_path, sources={"north": source})
    assert (file.path, file.state) == (str(path), "loaded")


def test_a_file_of_two_sources_is_refused(clean_engine, tmp_path):
    path = write(tmp_path / "north-1.csv", HEADER + "A;05/11/2025;7\n")
    both = {"north": NORTH, "all": SourceSettings(pattern="*.csv")}
    (file,) = load(clean_engine, path, sources=both)
    assert "north-1.csv fits the patterns of north and all" in file.error
    (file,) = load(clean_engine, path, sources=both, source="north")
    assert file.state == "loaded"


def test_an_unknown_source_is_told_with_those_there_are():
    with pytest.raises(
        BadInputError, match=r"source is 'sud'.*only north.*sources\.sud"
    ):
        options_of_source("sud", FileOptions(), {"north": NORTH})


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        pytest.param(
            "pattern = 'n-*'\npatern = 'n'",
            "[sources.north] has patern = 'n': its keys are pattern, kind,",
            id="mistyped key",
        ),
        pytest.param(
            "pattern = 'n-*'\ndecimal = ';'",
            "[sources.north] has decimal = ';': Input should be '.' or ','.",
            id="no decimal mark",
        ),
        pytest.param(
            "pattern = 'n-*'\ncolumns = { depot = 'D' }",
            "[sources.north] in harbor.toml: --column names depot, which no kind of file",
            id="no column",
        ),
    ],
)
def test_a_wrong_source_keeps_its_own_files_out_and_no_other(
    clean_engine, monkeypatch, tmp_path, table, problem
):
    """The settings are read, the other files are loaded, and the doctor reports the problem."""
    (tmp_path / "harbor.toml").write_text(f"[sources.north]\n{table}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARBOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HARBOR_SETTLE_SECONDS", "0")
    settings = Settings.load()
    settings.inbox.mkdir(parents=True)
    for name, depot in (("n-1", "A"), ("south", "B")):
        text = f"depot_id,date,orders\n{depot},2024-01-01,1\n"
        write(settings.inbox / f"{name}.csv", text)
    report = ingest(clean_engine, [str(settings.inbox)], FileOptions(), settings)
    north, south = report.files
    assert (north.state, south.state) == ("refused", "loaded")
    assert problem in north.error
    (finding,) = source_findings(settings)
    assert not finding.ok
    assert problem in finding.message
    with pytest.raises(BadInputError, match=r"\[sources\.north\]"):
        options_of_source("north", FileOptions(), settings.sources)


@pytest.mark.parametrize(
    "toml", ["[sources.north]\npatern = 'n'", "[sources]\nnorth = 3"]
)
def test_a_file_of_no_source_waits_for_a_wrong_one_without_a_pattern(
    engine, monkeypatch, tmp_path, toml
):
    """The file may belong to that source, whose options would apply to it."""
    (tmp_path / "harbor.toml").write_text(f"{toml}\n")
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "south.csv", "depot_id,date,orders\nA,2024-01-01,1\n")
    (file,) = load(engine, path, sources=Settings.load().sources)
    assert file.state == "refused"
    assert "north" in file.error
    assert file.error.endswith(" Correct it in harbor.toml.")
