"""What each queue gets in each sub-cluster, and which jobs may begin. docs/operators.md is the reference."""

from typing import Annotated, Literal

from pydantic import Field

from contract.policy.parts import ComponentPart, Seconds


class SharesParameters(ComponentPart):
    interval_s: Annotated[float, Field(ge=0.1, le=3600, description="between two computations")] = 2.0
    stale_s: Annotated[
        Seconds,
        Field(
            description="shares that are older stay in force, but nothing is preempted on their account; two intervals"
            " or more"
        ),
    ] = 30.0


class Shares(ComponentPart):
    """What each queue gets in each sub-cluster; ``static``: its part of the policy by size, without the GPG."""

    policy: Literal["gif", "uniform", "load_based", "static"] = "gif"
    parameters: SharesParameters = SharesParameters()


class AdmissionParameters(ComponentPart):
    quota: Annotated[
        Literal["guaranteed", "maximum"],
        Field(description="of each queue in the whole federation: what its gangs and declared parallelism may hold"),
    ] = "guaranteed"


class Admission(ComponentPart):
    """Which jobs wait in `SUBMITTED`; ``gac``: also those for whose containers at once there is no quota left."""

    policy: Literal["counts", "gac"] = "counts"
    parameters: AdmissionParameters = AdmissionParameters()
