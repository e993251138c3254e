"""What the start of rented machines takes and costs, beside a time and a price that do not include it.

At 3.60 dollars an hour, a second costs a tenth of a cent.
"""

from price_builders import price

from orchestrator.analysis.tables.machine_start import describe_start
from orchestrator.core.price import Unpriced

STATED = {"least_billing_seconds": 60.0, "start_seconds": (120.0, 600.0)}


def test_what_the_price_list_states_is_shown():
    assert describe_start([price(**STATED)]) == (
        "Boot and install of a rented machine come on top: 2.0 min to 10 min, $0.12 to $0.60, "
        "as stated. Each start is billed for at least 60 s, $0.060."
    )


def test_the_start_of_several_machines_is_shown_as_a_range():
    dear = price(**STATED, node_usd_per_hour=36.0)
    assert describe_start([price(**STATED), dear]) == (
        "Boot and install of a rented machine come on top: 2.0 min to 10 min, $0.12 to $6.0, "
        "as stated. Each start is billed for at least 60 s, $0.060 to $0.60."
    )


def test_an_unknown_start_is_left_out_and_named():
    assert describe_start([price(), price(**STATED)]) == (
        "Boot and install of a rented machine are not included (prices.start_seconds=[LOW,HIGH] adds them). "
        "Each start is billed for at least 60 s, $0.060."
    )
    assert describe_start([None, Unpriced(reason="no row")]) == (
        "Boot and install of a rented machine are not included."
    )


def test_without_rented_machines_no_start_is_shown():
    assert describe_start([]) == ""
