"""A greenhouse: plants stand in beds of different temperatures."""

from general_agent.tools import DB, Tools, tool
from pydantic import BaseModel


class Bed(BaseModel):
    id: str
    degrees: float
    places: int


class Plant(BaseModel):
    id: str
    kind: str
    bed_id: str
    waterings: int = 0


class TaskDB(DB):
    beds: list[Bed] = []
    plants: list[Plant] = []


class TaskTools(Tools):
    db: TaskDB

    @tool
    def list_beds(self) -> list[dict]:
        """List the beds with their temperatures and places."""
        return [bed.model_dump() for bed in self.db.beds]

    @tool
    def find_plants(self, kind: str) -> list[dict]:
        """Find the plants of a kind.

        Args:
            kind: The kind, such as basil.
        """
        return [plant.model_dump() for plant in self.db.plants if plant.kind == kind]

    @tool
    def move_plant(self, plant_id: str, bed_id: str) -> dict:
        """Move a plant to another bed.

        Args:
            plant_id: The plant.
            bed_id: The bed.
        """
        plant = self._plant(plant_id)
        plant.bed_id = bed_id
        bed = next((bed for bed in self.db.beds if bed.id == bed_id), None)
        if bed is None:
            raise ValueError(f"There is no bed {bed_id}.")
        if sum(one.bed_id == bed_id for one in self.db.plants) > bed.places:
            raise ValueError(f"Bed {bed_id} has no place left.")
        return plant.model_dump()

    @tool
    def water_plant(self, plant_id: str) -> dict:
        """Water a plant once.

        Args:
            plant_id: The plant.
        """
        plant = self._plant(plant_id)
        plant.waterings += 1
        return plant.model_dump()

    def _plant(self, plant_id: str) -> Plant:
        for plant in self.db.plants:
            if plant.id == plant_id:
                return plant
        raise ValueError(f"There is no plant {plant_id}.")


def verify(db: TaskDB) -> float:
    """Return 1 if all basil is warm and watered."""
    warm = {bed.id for bed in db.beds if bed.degrees >= 18}
    basil = [plant for plant in db.plants if plant.kind == "basil"]
    return float(all(plant.bed_id in warm and plant.waterings for plant in basil))
