"""What every part of the policy document's components is made of. Durations are seconds, shares are 0 to 1."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, le=86400)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
BackfillName = Literal["none", "easy", "conservative", "strict"]


class ComponentPart(BaseModel):
    """A policy by name with its parameters, or the parameters themselves."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NoParameters(ComponentPart):
    """For policies that leave nothing to choose."""
