import pytest

from bakeoff.environment import setting
from bakeoff.testing import StoreContract


@pytest.mark.skipif(not setting("BAKEOFF_ELASTICSEARCH_URL"), reason="no engine: bakeoff servers up elasticsearch")
class TestContract(StoreContract):
    name = "elasticsearch"
