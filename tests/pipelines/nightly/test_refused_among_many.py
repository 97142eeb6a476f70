"""A refused file among many stays in the log of its run."""

from tests.pipelines.in_process import harbor


def test_the_run_lists_the_refused_file_among_many(
    clean_engine, database_url, tmp_path
):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a-refused.csv").write_text("nonsense\n")
    for number in range(40):
        rows = f"{number},A,2026-01-01 10:00\n"
        path = inbox / f"b{number:02d}.csv"
        path.write_text(f"order_id,depot_id,ordered_at\n{rows}")
    settings = {
        "HARBOR_HOME": str(tmp_path),
        "HARBOR_DATABASE_URL": database_url,
        "HARBOR_SETTLE_SECONDS": "0",
    }
    harbor("nightly", **settings)
    shown = harbor("runs", "show", "1", **settings)
    assert "a-refused.csv" in shown.stdout + shown.stderr
