"""The line on the fastest setting so far."""

from orchestrator.terminal.live_view import Rate, best_so_far


def rates(job="mnist_cnn", **settings):
    return [
        Rate(job=job, setting=setting, samples_per_second=value)
        for setting, values in settings.items()
        for value in values
    ]


def test_before_a_measurement_no_setting_leads():
    assert best_so_far([]) == ()


def test_the_only_setting_has_no_verdict():
    assert best_so_far(rates(a=[1000.0])) == ("a, 1,000 samples/s (the only setting measured so far)",)


def test_few_repeats_give_a_ratio_and_no_verdict():
    assert best_so_far(rates(a=[100.0], b=[200.0])) == ("b, 200 samples/s (too few repeats, 2.00x a)",)


def test_five_repeats_a_side_give_a_verdict():
    fast, slow = [200.0, 201, 202, 203, 204], [100.0, 101, 102, 103, 104]
    assert best_so_far(rates(a=slow, b=fast)) == ("b, 202 samples/s (faster, 1.98x a)",)
    (tie,) = best_so_far(rates(a=[90.0, 110, 100, 95, 105], b=[91.0, 111, 101, 96, 106]))
    assert tie == "b, 101 samples/s (tie, 1.01x a)"


def test_rates_of_different_jobs_are_not_compared():
    shown = best_so_far([*rates("one", a=[100.0]), *rates("two", a=[900.0])])
    assert [line.partition(":")[0] for line in shown] == ["one", "two"]
