"""Lets `python -m pipelines` stand for `harbor`, as the scheduler's children do."""

from pipelines.cli import main

if __name__ == "__main__":
    main()
