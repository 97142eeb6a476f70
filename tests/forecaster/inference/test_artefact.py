"""An artefact is loaded exactly as it was saved, or refused with a message."""

import json
import os
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from forecaster.errors import ArtefactError
from forecaster.inference import artefact as artefacts
from forecaster.inference import infer
from forecaster.inference.artefact_file import MANIFEST, SCHEMA, manifest_of
from tests.forecaster.inference.test_receptive_field_serving import odd_panel
from tests.make import make_artefact, make_panel


@pytest.fixture(scope="module")
def result():
    return make_artefact(make_panel())


@pytest.fixture
def path(result, tmp_path):
    return artefacts.save(result, tmp_path)


def test_loading_returns_what_was_saved(result, path):
    back = artefacts.load(path)
    assert back.version == result.version == path.stem
    same = {
        name: getattr(result, name)
        for name in ("intervals", "totals", "paths", "effects")
    }
    plain = replace(back, weights={}, **same)
    assert plain == replace(result, weights={})
    for name, value in result.weights.items():
        np.testing.assert_array_equal(back.weights[name], value)
    for part in ("intervals", "totals", "paths"):
        before, after = asdict(getattr(result, part)), asdict(getattr(back, part))
        for name, value in before.items():
            np.testing.assert_array_equal(after[name], value)


def test_the_same_artefact_gives_the_same_bytes(result, tmp_path):
    one, other = (artefacts.save(result, tmp_path / name) for name in ("a", "b"))
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_only_the_owner_may_read_the_file(result, tmp_path):
    path = artefacts.save(result, tmp_path / "artefacts")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_group_may_read_it_where_the_folder_is_open_to_it(result, tmp_path):
    """Pages that run under a separate account read the artefact for what-ifs."""
    folder = tmp_path / "artefacts"
    folder.mkdir()
    folder.chmod(0o2750)
    before = os.umask(0o077)
    try:
        path = artefacts.save(result, folder)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_half_written_file_is_replaced_and_nothing_left_beside_the_artefact(
    result, path
):
    left = path.parent / f".{result.version}.{os.getpid()}.tmp"
    left.write_bytes(b"half")
    assert artefacts.save(result, path.parent) == path
    assert list(path.parent.iterdir()) == [path]


def test_a_file_other_than_the_recorded_one_is_refused(path):
    recorded = artefacts.file_sha256(path)
    artefacts.load(path, recorded)
    with pytest.raises(
        ArtefactError, match=r"not the file that was recorded.*Restore it"
    ):
        artefacts.load(path, recorded[::-1])


def test_the_verified_bytes_are_the_ones_used(result, path, monkeypatch):
    """A change of the file right after it was read has no effect."""
    recorded, read = artefacts.file_sha256(path), Path.read_bytes

    def read_and_change(one):
        content = read(one)
        one.write_bytes(b"another")
        return content

    monkeypatch.setattr(Path, "read_bytes", read_and_change)
    assert artefacts.load(path, recorded).version == result.version


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(ArtefactError, match=r"gone.npz is not there.*models promote"):
        artefacts.load(tmp_path / "gone.npz")


@pytest.mark.parametrize("keep", [0, 10, 500, -1])
def test_a_truncated_one_is_refused(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ArtefactError, match="not a complete artefact"):
        artefacts.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(np.zeros(3), "has no manifest", id="foreign"),
        pytest.param(
            np.array([{"run": "me"}], object), "not a complete artefact", id="a pickle"
        ),
    ],
)
def test_another_file_is_refused(tmp_path, content, message):
    np.savez(tmp_path / "other.npz", a=content)
    with pytest.raises(ArtefactError, match=message):
        artefacts.load(tmp_path / "other.npz")


def rewritten(path, change):
    """Rewrites the file as a valid archive, with its manifest or arrays changed."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    change(arrays)
    np.savez(path, **arrays)


def test_a_changed_weight_fails_the_sha256(path):
    def change(arrays):
        name = "weights/mix/bias"
        arrays[name] = arrays[name] + 1e-3

    rewritten(path, change)
    with pytest.raises(ArtefactError, match="does not match its sha256"):
        artefacts.load(path)


@pytest.mark.parametrize("schema", [8, 99])
def test_another_schema_has_its_own_message_and_is_told_by_the_manifest(path, schema):
    assert manifest_of(path)["schema"] == SCHEMA

    def change(arrays):
        manifest = json.loads(arrays[MANIFEST].tobytes())
        manifest["schema"] = schema
        text = json.dumps(manifest).encode()
        arrays[MANIFEST] = np.frombuffer(text, np.uint8)

    rewritten(path, change)
    with pytest.raises(
        ArtefactError, match=rf"schema {schema}.*reads schema 14.*train --through 20"
    ):
        artefacts.load(path)
    assert manifest_of(path)["schema"] == schema
    path.write_bytes(path.read_bytes()[:-1])
    assert manifest_of(path) is None
    assert manifest_of(path.with_name("lost.npz")) is None


def test_a_kept_artefact_keeps_its_forecast():
    """The forecast of schema-N.npz is stored beside it. To recreate both, with N the schema:

    panel = make_panel(n_depots=3, n_days=100)
    made = make_artefact(panel, seed=3)
    artefacts.save(made, kept).rename(kept / "schema-N.npz")
    forecast = vars(infer.forecast(made, panel))
    quantiles = {name: forecast[name].tolist() for name in ("p10_dh", "p50_dh", "p90_dh")}
    (kept / "schema-N.json").write_text(json.dumps(quantiles))
    """
    kept = Path(__file__).parent / "kept"
    artefact = artefacts.load(kept / "schema-14.npz")
    panel = make_panel(n_depots=3, n_days=100)
    expected = json.loads((kept / "schema-14.json").read_text())
    result = infer.forecast(artefact, panel)
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(result, name), values, rtol=1e-4)


def test_an_odd_fleet_keeps_its_forecast():
    """A new depot, a late one, one silent for months, gaps, closed days and events.

    Faster code must give the same numbers up to rounding. The expected forecast is recreated
    like that of a kept artefact.
    """
    panel = odd_panel(400, seed=1)
    artefact = make_artefact(panel, seed=3)
    kept = Path(__file__).parent / "kept" / "odd-fleet.json"
    result = infer.forecast(artefact, panel)
    for name, values in json.loads(kept.read_text()).items():
        np.testing.assert_allclose(getattr(result, name), values, rtol=1e-5, atol=1e-5)


def test_the_networks_are_made_ready_once_for_all_forecasts():
    panel = make_panel(n_depots=3, n_days=100)
    made = make_artefact(panel)
    infer.forecast(made, panel)
    assert made.network is made.network
    louder = replace(
        made, weights={name: 2 * value for name, value in made.weights.items()}
    )
    moved_dh = infer.forecast(louder, panel).p50_dh - infer.forecast(made, panel).p50_dh
    assert np.abs(moved_dh).max() > 1


def test_a_model_of_other_inputs_is_refused_with_what_to_do(result, tmp_path):
    newer = replace(result, feature_names=(*result.feature_names, "rain"))
    with pytest.raises(
        ArtefactError, match=r"other inputs.*differ in rain.*Train again"
    ):
        artefacts.load(artefacts.save(newer, tmp_path))
