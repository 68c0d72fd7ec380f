"""All questions of a fitted model."""

from __future__ import annotations

from fspn.ask.expectations import ExpectationQuestions
from fspn.ask.latent import LatentQuestions
from fspn.ask.map import MapQuestions
from fspn.ask.sampling import SampleQuestions


class AllQuestions(MapQuestions, SampleQuestions, ExpectationQuestions, LatentQuestions):
    """Probabilities, completions, samples, expectations and the latent reading."""
