"""`--profile` writes a trace of a few epochs."""

from dataclasses import replace

import pytest

from forecaster.model.profiling import traced_epochs
from forecaster.model.trainer import fit
from tests.forecaster.model.test_trainer import MODEL, TASK, TRAIN, features_of
from tests.make import make_panel


@pytest.mark.parametrize("epochs", [1, 5])
def test_a_fit_leaves_one_trace_and_its_reports_arrive(tmp_path, epochs):
    features = features_of(make_panel(n_depots=4, n_days=150))
    reported = []
    with traced_epochs(tmp_path / "trace") as traced:
        report = traced(lambda epoch, *_: reported.append(epoch))
        fit(features, TASK, MODEL, replace(TRAIN, epochs=epochs), report=report)
    assert reported == [*range(1, epochs + 1)]
    (trace,) = (tmp_path / "trace").rglob("*.xplane.pb")
    assert trace.stat().st_size > 0
