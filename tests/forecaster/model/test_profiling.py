"""A trace of steps after the first epoch, for whoever wants to know where time goes."""

from dataclasses import replace

from forecaster.model.profiling import Profile
from forecaster.model.trainer import fit
from tests.forecaster.model.test_trainer import MODEL, TASK, TRAIN, features_of
from tests.make import make_panel


def traced(tmp_path, epochs):
    """Epochs told of while a trace was being written, and the files of the trace."""
    features = features_of(make_panel(n_depots=4, n_days=150))
    seen = []
    with Profile(tmp_path / "trace") as profile:
        watched = profile.watch(lambda epoch, *_: seen.append((epoch, profile.traces)))
        fit(features, TASK, MODEL, replace(TRAIN, epochs=epochs), report=watched)
    assert not profile.traces
    return seen, list((tmp_path / "trace").rglob("*.xplane.pb"))


def test_the_trace_begins_after_the_first_epoch_and_ends_two_later(tmp_path):
    seen, files = traced(tmp_path, epochs=5)
    assert seen == [(1, True), (2, True), (3, False), (4, False), (5, False)]
    assert len(files) == 1
    assert files[0].stat().st_size > 0


def test_a_training_that_ends_early_leaves_its_trace(tmp_path):
    seen, files = traced(tmp_path, epochs=1)
    assert seen == [(1, True)]
    assert len(files) == 1
