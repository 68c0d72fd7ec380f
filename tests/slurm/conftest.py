"""The tests on a real Slurm run by name only: `make slurm-test`."""

collect_ignore = ["on_slurm.py"]
