"""Makes `python -m pipelines` equivalent to `harbor`, for the scheduler's child processes."""

from pipelines.cli import main

if __name__ == "__main__":
    main()
