"""The tests; a package of its own, since a dependency installs another one called `tests`."""
