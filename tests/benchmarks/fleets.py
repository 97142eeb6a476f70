"""A folder in the input contract as a panel, by the same road as everybody's data."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from forecaster.data.panel import Panel
from pipelines.cli.context import open_context
from pipelines.demand import counting
from pipelines.demand.panels import read_panel


def panel_of(folder: Path) -> Panel:
    """Ingests a folder into a database of its own, and reads the panel back.

    Args:
      folder: Files of the input contract.
    """
    with tempfile.TemporaryDirectory(prefix="harbor-bench-") as home:
        os.environ["HARBOR_HOME"] = home
        command = [sys.executable, "-m", "pipelines", "ingest", str(folder)]
        subprocess.run(command, check=True)
        with open_context() as context:
            return read_panel(context.engine, counting.default_origin(context.engine))
