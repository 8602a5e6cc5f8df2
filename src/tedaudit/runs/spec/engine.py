"""Who does the model work of an audit. It changes nothing but the time: it is in no table's key."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tedaudit.errors import quote


class EngineSpec(BaseModel):
    """An engine by name. A bare string is a name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["serial", "processes", "ray"] = Field(
        default="serial", description="This process; several of this machine; or a Ray cluster."
    )
    workers: int = Field(
        default=0, ge=0, le=100_000, description="How many work at a time; 0: as many as fit."
    )
    address: str = Field(
        default="", description="ray: the address of a cluster; without it, one is started here."
    )
    resources: dict[str, float] = Field(
        default_factory=dict,
        description="ray: what each worker takes, as cpu: 1, gpu: 0.5 or a resource of yours.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("resources", mode="before")
    @classmethod
    def _amounts(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError("it should be a mapping, such as {cpu: 1, gpu: 0.5}")  # noqa: TRY004 - of pydantic
        for name, amount in value.items():
            is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
            if not isinstance(name, str) or not name or not is_number or not 0 <= amount < math.inf:
                raise ValueError(f"{quote(name)} is {quote(amount)}; it should be a number of 0 or more")
        return dict(value)

    @model_validator(mode="after")
    def _fits(self) -> "EngineSpec":
        if self.name == "serial" and self.workers > 1:
            raise ValueError("the engine serial has one worker; choose processes or ray")
        for name in ("address", "resources"):
            if getattr(self, name) and self.name != "ray":
                raise ValueError(f"`{name}` is for the engine ray, and the engine is {self.name}")
        return self
