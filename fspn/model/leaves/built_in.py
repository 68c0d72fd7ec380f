"""The families that come with the package; importing this module registers all of them."""

from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.continuous import GaussianMixture, Histogram
from fspn.model.leaves.joint import SparseJoint

BUILT_IN = (Categorical, GaussianMixture, Histogram, SparseJoint)
