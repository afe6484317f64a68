import pytest

from bakeoff.environment import setting
from bakeoff.testing import StoreContract


@pytest.mark.skipif(not setting("BAKEOFF_WEAVIATE_URL"), reason="no engine: bakeoff servers up weaviate")
class TestContract(StoreContract):
    name = "weaviate"
