"""Tests, mirroring the packages; a package of its own, because a peer installs one of this name."""
