"""A model runs again only on other data, or when asked."""

import numpy as np

from tests.benchmarks.stored import stored_or_new


def test_a_run_is_stored_until_the_data_change_or_it_is_asked_for_again(tmp_path):
    path, runs = tmp_path / "theta.npz", []

    def run():
        runs.append(len(runs))
        return {"p50": np.array([len(runs), np.nan])}, {"theta": {"seconds": len(runs)}}

    def nth_run(digest, again=False):
        arrays, models = stored_or_new(path, digest, again, run)
        assert list(arrays) == ["p50"]
        assert arrays["p50"][0] == models["theta"]["seconds"]
        return models["theta"]["seconds"]

    assert [nth_run("a"), nth_run("a"), nth_run("b"), nth_run("b")] == [1, 1, 2, 2]
    assert [nth_run("b", again=True), nth_run("b")] == [3, 3]
