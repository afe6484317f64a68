"""The base of plug-in parameters, in a module that imports nothing heavy."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Immutable settings that reject unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
