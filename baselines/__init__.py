"""The peers that FSPN is measured against, all behind the protocol of `baselines.base`."""
