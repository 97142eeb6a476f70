"""The night publishes, tells the webhooks, and goes on whatever becomes of it."""

import json
import re
import socketserver
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest

from forecaster.errors import ConfigError, NothingToDoError
from pipelines.nightly import steps
from pipelines.nightly.run import NightlyError, run_nightly
from pipelines.nightly.steps import NightlyContext
from pipelines.publishing import webhooks
from pipelines.publishing.destination import Destination
from pipelines.scheduling import schedule
from pipelines.settings import Settings
from tests.pages import ROOT
from tests.pipelines.faults.faults import fill, small_disk
from tests.pipelines.faults.victim import invent_training
from tests.pipelines.make import midnight_after
from tests.pipelines.publishing.conftest import LAST

PAGE = ROOT / "deploy" / "docs" / "other-systems.md"


def nightly_states(fleet):
    rows = fleet.read("select state from runs where step = 'nightly' order by run_id")
    return [row["state"] for row in rows]


@pytest.fixture
def night(fleet, tmp_path, monkeypatch):
    """Runs the night of the last day with some settings."""
    invent_training(monkeypatch.setattr)
    monkeypatch.setattr(webhooks, "PAUSES_S", (0.0, 0.0))
    fleet.count(LAST, 80)

    def run(**settings):
        given = Settings(home=tmp_path, settle_seconds=0, **settings)
        now = midnight_after(LAST)
        return run_nightly(NightlyContext(fleet.engine, given, now, LAST))

    return run


def test_a_night_publishes_and_tells_the_next_system(night, fleet, listener, tmp_path):
    folder = tmp_path / "published"
    done = night(publish_url=str(folder), publish_webhooks=listener.url)
    model = done["steps"]["forecast"]["model"]
    assert done["steps"]["publish"] == {
        "published": {"forecasts": 2, "totals": 2, "scores": 1}, "webhooks": 1,
    }  # fmt: skip
    (sent,) = listener.received
    (shown,) = fleet.read("select * from shown_forecast")
    assert sent.kind == "application/json"
    assert sent.body == {
        "event": "forecast_published",
        "publication_id": shown["publication_id"],
        "origin_on": str(LAST),
        "model_version": model,
        "is_live": True,
        "rows": 2 * 7,
        "published_at": shown["published_at"].isoformat(),
        "where": f"{folder}/forecasts/origin_on={LAST}",
    }
    assert (folder / "forecasts" / f"origin_on={LAST}" / "_SUCCESS").exists()
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert {name: type(value) for name, value in json.loads(example).items()} == {
        name: type(value) for name, value in sent.body.items()
    }


def test_a_webhook_needs_no_files_and_is_tried_again_where_it_fails(night, listener):
    listener.statuses = [503, 500]
    night(publish_webhooks=listener.url)
    said = [(each.body["origin_on"], each.body["rows"]) for each in listener.received]
    assert said == [(str(LAST), 14)] * 3
    assert listener.received[-1].body["where"] is None


def test_what_fails_is_told_and_made_up_for_and_the_forecast_is_there(
    night, fleet, listener, tmp_path
):
    occupied = tmp_path / "occupied"
    occupied.write_text("a file, where a folder should be")
    listener.statuses = [500] * 3
    given = {"publish_url": str(occupied), "publish_webhooks": listener.url}
    assert "could not be published to" in night(**given)["unpublished"]
    assert nightly_states(fleet) == ["done"]
    (shown,) = fleet.read("select origin_on from shown_forecast")
    assert shown["origin_on"] == LAST
    assert listener.received == []
    # Until a day has passed, a scheduler tries it again.
    now = datetime.now(UTC)
    assert schedule.unpublished_origin(fleet.engine, now) == LAST
    assert schedule.unpublished_origin(fleet.engine, now + timedelta(hours=25)) is None

    occupied.unlink()
    unpublished = night(**given)["unpublished"]
    assert re.search(r"Address 1 .* did not accept it: 500", unpublished)
    assert "s3cret" not in unpublished
    assert (occupied / "latest" / "forecasts" / "_SUCCESS").exists()

    done = night(**given)
    assert done["steps"]["publish"]["webhooks"] == 1
    assert done["unpublished"] is None
    assert listener.received[-1].body["origin_on"] == str(LAST)
    assert nightly_states(fleet) == ["done"] * 3
    assert schedule.unpublished_origin(fleet.engine, datetime.now(UTC)) is None
    with pytest.raises(NothingToDoError):
        night(**given)


def test_a_full_disk_of_what_is_published_asks_for_room_and_not_for_rights(night):
    with small_disk(1) as disk:
        filler = fill(disk)
        unpublished = night(publish_url=str(disk))["unpublished"]
        assert "No space left on device. Make room there; the next" in unpublished
        filler.unlink()
        assert night(publish_url=str(disk))["unpublished"] is None


def test_an_address_that_is_none_is_told_by_its_number():
    settings = Settings(publish_webhooks="https://a.example/x ftp://s3cret.example")
    with pytest.raises(ConfigError, match=r"^Address 2 of HARBOR_PUBLISH_WEBHOOKS"):
        webhooks.webhooks_of(settings)


@pytest.mark.parametrize(
    ("status", "reason"), [(520, "520"), (418, "418 I'm a Teapot")]
)
def test_a_status_is_a_sentence_and_the_next_address_is_called_whatever_it_is(
    listener, monkeypatch, status, reason
):
    monkeypatch.setattr(webhooks, "PAUSES_S", ())
    listener.statuses = [status]
    (failure,) = webhooks.post([listener.url] * 2, {})
    assert failure.endswith(f"did not accept it: {reason}.")
    assert len(listener.received) == 2


class Mute(socketserver.StreamRequestHandler):
    """Answers with a line that is not HTTP."""

    def handle(self) -> None:
        while self.rfile.readline().strip():  # or the client may find the pipe broken
            pass
        self.rfile.read(len(b"{}"))
        self.wfile.write(b"s3cret\r\n")


def test_an_answer_that_is_not_http_is_a_sentence_without_the_address(monkeypatch):
    monkeypatch.setattr(webhooks, "PAUSES_S", ())
    with socketserver.TCPServer(("127.0.0.1", 0), Mute) as server:
        Thread(target=server.handle_request).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/s3cret"
        failures = webhooks.post([url, "http://127.0.0.1:s3cret/"], {})
    assert [each.partition(": ")[2] for each in failures] == [
        "no HTTP answer (BadStatusLine).",
        "no valid address.",
    ]


def test_a_server_that_is_not_there_is_a_sentence(listener, monkeypatch):
    monkeypatch.setattr(webhooks, "PAUSES_S", ())
    listener.close()
    (failure,) = webhooks.post([listener.url], {})
    assert failure == (
        "Address 1 of HARBOR_PUBLISH_WEBHOOKS did not accept it: Connection refused."
    )


def test_an_unreachable_bucket_is_told_with_advice(night, monkeypatch):
    def fail(_url):
        raise OSError(
            "When resolving region for bucket 'b': AWS Error NETWORK_CONNECTION"
        )

    monkeypatch.setattr(Destination, "at", fail)
    unpublished = night(publish_url="s3://bucket/x")["unpublished"]
    assert "This is unexpected" not in unpublished
    assert "Check HARBOR_PUBLISH_URL" in unpublished


def test_a_trained_model_whose_file_is_lost_is_trained_again(
    night, tmp_path, monkeypatch
):
    def fail(*_):
        raise RuntimeError("killed here")

    whole = steps.STEPS
    broken = {name: replace(whole[name], work=fail) for name in ("promote", "forecast")}
    monkeypatch.setattr(steps, "STEPS", whole | broken)
    with pytest.raises(NightlyError):
        night()
    monkeypatch.setattr(steps, "STEPS", whole)
    for path in (tmp_path / "artefacts").glob("*.npz"):
        path.unlink()
    assert night()["steps"]["promote"]["promoted"]
