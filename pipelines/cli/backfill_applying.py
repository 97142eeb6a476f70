"""How a plan is applied before people's eyes, and told to machines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from forecaster.errors import HarborError
from pipelines.backfill import ProgressCallbacks, Slot, apply_plan
from pipelines.cli.backfill_plans import plan_as_json, read, show_failures, standing
from pipelines.cli.console import progress, say, show_json
from pipelines.cli.stopping import kept
from pipelines.cli.workplace import workplace

LABEL = "Backfilling"


def apply_and_tell(backfill_id: int, as_json: bool) -> None:
    """Applies a plan, with a bar on the way and a sentence at the end.

    Raises:
      HarborError: a slot failed, or the plan cannot be applied.
    """
    paused = (
        f"Plan {backfill_id} is paused. 'harbor backfill resume {backfill_id}' "
        "continues it."
    )
    with kept(paused), workplace() as place:
        waiting = len(read(place, backfill_id).waiting)
        with _progress(waiting) as callbacks:
            done = apply_plan(
                place.engine, place.settings, backfill_id, place.now, callbacks
            )
        if as_json:
            show_json(plan_as_json(done))
        else:
            say(standing(place, done))
            show_failures(done)
    if done.failed:
        raise HarborError(
            f"{len(done.failed)} of {len(done.slots)} slots failed. 'harbor backfill "
            f"retry {backfill_id} --failed' tries them again."
        )


@contextmanager
def _progress(waiting: int) -> Iterator[ProgressCallbacks]:
    """A bar of slots, which also says how far a training has come."""
    with progress(LABEL, waiting) as bar:
        task = bar.task_ids[0]

        def advance(_: Slot) -> None:
            bar.update(task, advance=1, description=LABEL)

        def fits(fit: str) -> Callable[[int, int, float], None]:
            def told(epoch: int, epochs: int, _: float) -> None:
                bar.update(task, description=f"Training ({fit} {epoch}/{epochs})")

            return told

        yield ProgressCallbacks(on_slot=advance, on_message=say, on_fit=fits)
