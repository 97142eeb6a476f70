"""Speed of training and serving, and its growth.

    make speed

Each part runs in a process of its own, so that its memory is its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

from tests.benchmarks.invented import invented_artefact, invented_panel
from tests.benchmarks.machine import stamp, timed

REFERENCE_DEPOTS, REFERENCE_DAYS, REFERENCE_EPOCHS = 120, 548, 200
SERVED_DEPOTS = (120, 10_000)
SERVED_DAYS = (REFERENCE_DAYS, 1_000)
"""Days of history: those of the reference, and a little more than can matter."""
MOST_DEPOTS = 100_000
IMPORTS = 5
TRAINED_DEPOTS = (100, 1_000, 10_000)
TIMED_STEPS = 100
CONTEXT = 56
ON_ONE_THREAD = ("serving", "largest")
"""Parts whose products of NumPy have one thread each, as every command has them."""
Result = dict[str, Any]


def main() -> None:
    """Runs the named parts, each in a child, and prints their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PARTS)}; all but largest without"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        name, *numbers = args.child.split(":")
        result = PARTS[name](*map(int, numbers))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result | {"peak_mib": round(peak)}))
        return
    print(stamp())
    for name in args.parts or USUAL:
        costs = []
        for numbers in ARGUMENTS.get(name, ((),)):
            result = _in_child(":".join((name, *map(str, numbers))))
            print(
                f"{name} {' '.join(map(str, numbers))}: {json.dumps(result)}",
                flush=True,
            )
            costs.append(result.get("ms_per_window"))
        if len(costs) > 1 and all(costs):
            ratio = max(costs) / min(costs)
            print(f"{name}, dearest window against cheapest: {ratio:.2f}")


def reference() -> Result:
    """The reference workload, every epoch of it, one network."""
    return _fit(REFERENCE_DEPOTS, REFERENCE_DAYS, REFERENCE_EPOCHS)


def night() -> Result:
    """The reference workload as a night trains it, with the defaults: two fits."""
    from forecaster.model.cpu_devices import use_all_cores
    from forecaster.model.two_stage_fit import Recipe, train_model

    recipe = Recipe()
    use_all_cores(recipe.train.batch_size, "")
    panel = invented_panel(REFERENCE_DEPOTS, REFERENCE_DAYS)
    started = time.perf_counter()
    learnt = train_model(panel, recipe)
    seconds = time.perf_counter() - started
    steps = learnt.evaluation_fit.steps + learnt.production_fit.steps
    return {"seconds": round(seconds, 1), "steps": steps}


def training(n_depots: int) -> Result:
    """Cost of a step, its batch cut from the host included, and the first apart.

    Depots are streamed in batches and share their city's calendar, so the cost of a
    window should not grow with their number, and memory by no more than their history.
    """
    windows = n_depots * -(-REFERENCE_DAYS // CONTEXT)
    return _fit(n_depots, REFERENCE_DAYS, epochs=-(-TIMED_STEPS * 64 // windows))


def serving(n_depots: int, n_days: int) -> Result:
    """One forecast of every depot by NumPy, from panel to orders, without JAX.

    Args:
      n_depots: D.
      n_days: T.
    """
    from forecaster.inference import infer

    panel = invented_panel(n_depots, n_days)
    artefact = invented_artefact(panel)
    times = max(3, 6_000 // n_depots)
    work = partial(infer.forecast, artefact, panel)
    taken, of_cores = zip(*(_timed_twice(work) for _ in range(times)), strict=True)
    assert "jax" not in sys.modules, "serving must not import JAX"
    return {
        "seconds": round(min(taken), 4),
        # Of all cores together; another's work on this machine hardly lengthens it.
        "processor_seconds": round(min(of_cores), 4),
        "panel_mib": round((panel.demand_dt.nbytes + panel.closed_dt.nbytes) / 2**20),
        "import_seconds": _import_seconds(),
    }


def long_horizon() -> Result:
    """Training of 7 depots for 61 days ahead, against 7 days; both fits, compilation too."""
    from forecaster.config import TaskConfig
    from forecaster.model.cpu_devices import use_all_cores
    from forecaster.model.two_stage_fit import Recipe, train_model

    use_all_cores(Recipe().train.batch_size, "")
    panel = invented_panel(7, REFERENCE_DAYS, ahead=61)
    seconds = [
        timed(partial(train_model, panel, Recipe(task=TaskConfig(horizon=horizon))))
        for horizon in (61, 7)
    ]
    return {
        "of_week": round(seconds[0] / seconds[1], 2),
        "seconds": round(seconds[0], 1),
    }


def largest() -> Result:
    """A fleet of 100,000 depots, whose panel alone is more than 250 MiB; a minute."""
    return serving(MOST_DEPOTS, REFERENCE_DAYS)


def _import_seconds() -> float:
    """Import time of serving, in a fresh interpreter."""
    statement = (
        "import time; t = time.perf_counter(); import forecaster.inference.infer; "
    )
    command = [sys.executable, "-c", statement + "print(time.perf_counter() - t)"]
    taken = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for _ in range(IMPORTS)
    ]
    return round(min(map(float, taken)), 2)


def _fit(n_depots: int, n_days: int, epochs: int) -> Result:
    """One fit of one network: its time, the first step's, and the steady state's."""
    from forecaster.config import ModelConfig, TaskConfig, TrainConfig
    from forecaster.data.features import build_features, choose_kinds
    from forecaster.model.cpu_devices import use_all_cores
    from forecaster.model.trainer import fit

    config = TrainConfig(epochs=epochs, most_steps=10**7, members=1)
    use_all_cores(config.batch_size, "")
    panel = invented_panel(n_depots, n_days)
    kinds = choose_kinds(panel.calendar, panel.n_steps)
    task, model = TaskConfig(context=CONTEXT), ModelConfig()
    features = build_features(panel, kinds, task.horizon)
    started = time.perf_counter()
    fitted = fit(features, task, model, config)
    seconds = time.perf_counter() - started
    per_step = (seconds - fitted.first_step_seconds) / fitted.steps
    return {
        "seconds": round(seconds, 1),
        "steps": fitted.steps,
        "first_step_seconds": round(fitted.first_step_seconds, 1),
        "ms_per_step": round(1000 * per_step, 1),
        "ms_per_window": round(1000 * per_step / config.batch_size, 3),
        "calendars": len(features.calendar_gtf),
    }


def _timed_twice(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the clock, and of all cores together."""
    before = time.process_time()
    return timed(work), time.process_time() - before


def _in_child(child: str) -> Result:
    command = [sys.executable, "-m", "tests.benchmarks.speed", "--child", child]
    threads = {"OPENBLAS_NUM_THREADS": "1"} if child.startswith(ON_ONE_THREAD) else {}
    done = subprocess.run(
        command,
        env={**threads, **os.environ},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


PARTS: dict[str, Callable[..., Result]] = {
    "reference": reference,
    "night": night,
    "training": training,
    "serving": serving,
    "long_horizon": long_horizon,
    "largest": largest,
}
USUAL = tuple(name for name in PARTS if name != "largest")
ARGUMENTS = {
    "training": tuple((count,) for count in TRAINED_DEPOTS),
    "serving": tuple(product(SERVED_DEPOTS, SERVED_DAYS)),
}

if __name__ == "__main__":
    main()
