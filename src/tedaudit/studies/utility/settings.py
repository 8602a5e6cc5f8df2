"""All settings of a study as one value: `UtilitySpec`, from YAML or flags. Unknown keys are refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tedaudit.models.zoo import default_checkpoint
from tedaudit.paths import parse_path
from tedaudit.runs.spec.messages import Epsilons, OneOrMany, validate
from tedaudit.runs.spec.model import LARGEST, FolderName, MechanismSpec, PluginSpec, Seed, distinct_titles

Role = Literal["utility", "private"]


class UtilitySpec(BaseModel):
    """Everything that a study needs: any label column is a task, or an attribute that should stay private."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: FolderName = Field(default="audit", description="Names the folder: NAME-utility.")
    mechanisms: OneOrMany[MechanismSpec] = Field(min_length=1)
    corpus: PluginSpec | None = Field(default=None, description="'demo' by default.")
    epsilons: Epsilons = Field(default_factory=list)
    tasks: OneOrMany[str] = Field(
        default_factory=list, description="Label columns that should stay learnable."
    )
    private: OneOrMany[str] = Field(default_factory=list, description="Label columns that should not.")
    classifier: str = Field(
        default_factory=lambda: default_checkpoint("mlm", "tfidf"),
        description="tfidf, or an encoder: zoo:mlm, a folder or a hub id.",
    )
    learning_rate: float = Field(
        default=0.0, ge=0, description="For training an encoder; 0: chosen by its size."
    )
    device: str = Field(default="auto", description="Where an encoder is trained.")
    seeds: int = Field(default=3, ge=1, le=100, description="How often each classifier is trained.")
    limit: int = Field(default=0, ge=0, le=LARGEST, description="At most this many training texts; 0: all.")
    test_split: str = Field(default="test", description="Which split the classifiers are tested on.")
    hold_out: float = Field(
        default=0.2, gt=0, lt=1, description="Share of texts to test on if the corpus has one split only."
    )
    key: str = Field(default="", description="Column whose hash chooses them; the text by default.")
    seed: Seed = 0
    batch_size: int = Field(default=4096, ge=1, le=LARGEST, description="Draws per call of a mechanism.")
    private_records: int = Field(
        default=1000,
        ge=0,
        le=LARGEST,
        description="At most this many test texts are rewritten to guess private columns from; 0: none.",
    )
    alpha: float = Field(default=0.01, gt=0, lt=1, description="Twice the error of all bounds together.")
    note: str = Field(default="", description="Printed below the table and the figure.")
    out: str = Field(default="", description="The folder of the study; runs/NAME-utility by default.")

    @model_validator(mode="after")
    def _check_consistency(self) -> "UtilitySpec":
        distinct_titles("mechanisms", [mechanism.title for mechanism in self.mechanisms])
        columns = [*self.tasks, *self.private]
        duplicates = sorted({column for column in columns if columns.count(column) > 1})
        if duplicates:
            raise ValueError(
                f"duplicate column in `tasks` and `private`: {', '.join(duplicates)}; name each once"
            )
        return self

    @property
    def folder(self) -> Path:
        """The folder of the study."""
        return parse_path(self.out or Path("runs") / f"{self.name}-utility")

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each label column in the study."""
        tasks: dict[str, Role] = dict.fromkeys(self.tasks, "utility")
        return {**tasks, **dict.fromkeys(self.private, "private")}


def parse_utility(data: Mapping[str, Any]) -> UtilitySpec:
    """Return the spec for a mapping, or raise an error that says what is wrong with it."""
    return validate(UtilitySpec, data)
