"""What the start of rented machines takes and costs, beside a time and a price that do not include it.

At 3.60 dollars an hour, a second costs a tenth of a cent.
"""

from price_builders import price

from orchestrator.analysis.tables.machine_start import describe_start
from orchestrator.core.price import Unpriced

STATED = {"least_billing_seconds": 60.0, "start_seconds": (120.0, 600.0)}


def test_what_the_price_list_states_is_told():
    assert describe_start([price(**STATED)]) == (
        "Beside it boot, install and CUDA start of a rented machine: 2.0 min to 10 min, $0.12 to $0.60, "
        "as stated; each start is billed for 60 s at least, $0.060."
    )


def test_of_several_machines_the_ends_are_told():
    dear = price(**STATED, node_usd_per_hour=36.0)
    assert describe_start([price(**STATED), dear]) == (
        "Beside it boot, install and CUDA start of a rented machine: 2.0 min to 10 min, $0.12 to $6.0, "
        "as stated; each start is billed for 60 s at least, $0.060 to $0.60."
    )


def test_an_unknown_start_is_left_out_and_named():
    assert describe_start([price(), price(**STATED)]) == (
        "Without boot, install and CUDA start of a rented machine (prices.start_seconds=[LOW,HIGH] "
        "states them); each start is billed for 60 s at least, $0.060."
    )
    assert describe_start([None, Unpriced(reason="no row")]) == (
        "Without boot, install and CUDA start of a rented machine."
    )


def test_where_nothing_is_rented_nothing_is_told():
    assert describe_start([]) == ""
