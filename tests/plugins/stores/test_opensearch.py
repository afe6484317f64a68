import pytest

from bakeoff.environment import setting
from bakeoff.testing import StoreContract


@pytest.mark.skipif(not setting("BAKEOFF_OPENSEARCH_URL"), reason="no engine: bakeoff servers up opensearch")
class TestContract(StoreContract):
    name = "opensearch"
