"""A real Slurm on this machine: not part of `make test`, see `make slurm-test`."""
