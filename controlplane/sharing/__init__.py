"""What each queue gets in each sub-cluster, from a policy and load rows: pure, for the GPG that assigns it and for
operators who ask what another policy would do."""
