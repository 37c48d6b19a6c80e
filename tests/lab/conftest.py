"""The machine of a test and a client of its BMC, as in the simulator's own tests; a module says which machine."""

from tests.simulator.conftest import client as client
from tests.simulator.conftest import service as service
