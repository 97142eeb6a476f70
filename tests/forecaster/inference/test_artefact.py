"""An artefact comes back as it went, or is refused with a sentence."""

import json
import os
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from forecaster import baselines
from forecaster.data import inputs
from forecaster.errors import ArtefactError
from forecaster.inference import artefact as artefacts
from forecaster.inference import infer
from forecaster.inference.artefact_file import MANIFEST
from tests.make import make_artefact, make_panel


@pytest.fixture(scope="module")
def made():
    return make_artefact(make_panel())


@pytest.fixture
def path(made, tmp_path):
    return artefacts.save(made, tmp_path)


def test_it_comes_back_as_it_went(made, path):
    back = artefacts.load(path)
    assert back.version == made.version == path.stem
    plain = replace(back, weights={}, intervals=made.intervals, totals=made.totals)
    assert plain == replace(made, weights={})
    for name, value in made.weights.items():
        np.testing.assert_array_equal(back.weights[name], value)
    for part in ("intervals", "totals"):
        before, after = asdict(getattr(made, part)), asdict(getattr(back, part))
        for name, value in before.items():
            np.testing.assert_array_equal(after[name], value)


def test_the_same_artefact_gives_the_same_bytes(made, tmp_path):
    one, other = (artefacts.save(made, tmp_path / name) for name in ("a", "b"))
    assert one.read_bytes() == other.read_bytes()


def test_nothing_but_the_artefact_is_left_behind(path):
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_only_its_user_reads_it(made, tmp_path):
    path = artefacts.save(made, tmp_path / "artefacts")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_its_group_reads_it_where_the_folder_is_open_to_the_group(made, tmp_path):
    """Pages that have an account of their own answer what-ifs from it."""
    folder = tmp_path / "artefacts"
    folder.mkdir()
    folder.chmod(0o2750)
    before = os.umask(0o077)
    try:
        path = artefacts.save(made, folder)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_one_that_a_crash_left_half_written_is_written_anew(made, path):
    left = path.parent / f".{made.version}.{os.getpid()}.tmp"
    left.write_bytes(b"half")
    assert artefacts.save(made, path.parent) == path
    assert not left.exists()


def test_one_that_was_recorded_is_refused_as_another_file(path):
    recorded = artefacts.file_sha256(path)
    artefacts.load(path, recorded)
    with pytest.raises(ArtefactError, match=r"not the file that was recorded.*differs"):
        artefacts.load(path, recorded[::-1])


def test_what_was_checked_is_what_is_used(made, path, monkeypatch):
    """A file that somebody changes right after it was read does not get in."""
    recorded, read = artefacts.file_sha256(path), Path.read_bytes

    def read_and_change(one):
        content = read(one)
        one.write_bytes(b"another")
        return content

    monkeypatch.setattr(Path, "read_bytes", read_and_change)
    assert artefacts.load(path, recorded).version == made.version


def test_a_missing_one_says_how_to_go_on(tmp_path):
    with pytest.raises(ArtefactError, match=r"gone.npz is not there.*models promote"):
        artefacts.load(tmp_path / "gone.npz")


@pytest.mark.parametrize("keep", [0, 10, 500, -1])
def test_a_truncated_one_is_refused(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ArtefactError, match="no whole artefact"):
        artefacts.load(path)


def test_a_stranger_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ArtefactError, match="has no manifest"):
        artefacts.load(tmp_path / "other.npz")


def test_a_pickle_is_refused(tmp_path):
    np.savez(tmp_path / "evil.npz", a=np.array([{"run": "me"}], object))
    with pytest.raises(ArtefactError, match="no whole artefact"):
        artefacts.load(tmp_path / "evil.npz")


def rewritten(path, change):
    """The file with its manifest or arrays changed, and a valid archive again."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    change(arrays)
    np.savez(path, **arrays)


def test_a_changed_weight_is_found_by_its_sha256(path):
    def change(arrays):
        name = "weights/mix/bias"
        arrays[name] = arrays[name] + 1e-3

    rewritten(path, change)
    with pytest.raises(ArtefactError, match="does not match its sha256"):
        artefacts.load(path)


def test_a_newer_schema_is_told_apart_from_a_broken_file(path):
    def change(arrays):
        manifest = json.loads(arrays[MANIFEST].tobytes())
        manifest["schema"] = 99
        text = json.dumps(manifest).encode()
        arrays[MANIFEST] = np.frombuffer(text, np.uint8)

    rewritten(path, change)
    with pytest.raises(ArtefactError, match=r"schema 99.*reads schema 3"):
        artefacts.load(path)


def test_the_file_carries_no_time(path):
    with zipfile.ZipFile(path) as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_an_artefact_of_an_earlier_release_keeps_loading():
    """Kept since schema 3; what it forecasts must not change either."""
    kept = Path(__file__).parent / "kept"
    artefact = artefacts.load(kept / "schema-3.npz")
    panel = make_panel(n_depots=3, n_days=100)
    expected = json.loads((kept / "schema-3.json").read_text())
    made = infer.forecast(artefact, panel)
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(made, name), values, rtol=1e-4)


def test_a_model_of_other_inputs_is_refused_with_what_to_do(made):
    name = "target/kernel"
    newer = np.pad(made.weights[name], ((0, 0), (0, 1), (0, 0)))
    with pytest.raises(ArtefactError, match=r"other inputs.*Train anew"):
        infer.forecast(
            replace(made, weights=made.weights | {name: newer}), make_panel()
        )


def test_an_older_model_reads_the_columns_that_it_knows(made):
    """Columns are added behind those there were: it forecasts as if they said nothing."""
    name, panel = "target/kernel", make_panel()
    known = made.weights[name][:, : inputs.COLUMNS_WITH_SMOOTHING - 1]
    deaf, older = known.copy(), known[:, :-5]
    deaf[:, -5:] = 0
    said = [
        infer.forecast(replace(made, weights=made.weights | {name: kernel}), panel)
        for kernel in (deaf, older)
    ]
    np.testing.assert_allclose(said[0].p50_dh, said[1].p50_dh, rtol=1e-5)


def test_a_model_from_before_smoothing_corrects_the_middle_of_the_weekdays(made):
    """Silent, it says what four weeks say; today's says the mean with what is smoothed."""
    silent = made.weights | {
        f"correction/{part}": np.zeros_like(made.weights[f"correction/{part}"])
        for part in ("kernel", "bias")
    }
    older = silent | {"target/kernel": made.weights["target/kernel"][:, :-1]}
    panel = make_panel()
    said, said_before = (
        infer.forecast(replace(made, weights=weights), panel).p50_dh
        for weights in (silent, older)
    )
    middle = baselines.median4(panel.demand_dt, panel.n_steps, made.horizon)
    np.testing.assert_allclose(np.log1p(said_before), np.log1p(middle), atol=0.02)
    assert np.abs(np.log1p(said) - np.log1p(middle)).max() > 0.02
