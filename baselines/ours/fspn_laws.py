"""FSPN with integer-linear laws, as the library learns by default."""

from __future__ import annotations

from typing import ClassVar

from baselines.ours.fspn_model import FSPNModel


class FSPNLaws(FSPNModel):
    """The default learner under the name that the study gives it where laws are on."""

    name: ClassVar[str] = "fspn_laws"
