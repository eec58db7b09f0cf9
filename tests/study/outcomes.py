"""What may come of a hostile case: an answer that holds only plausible numbers, or a refusal in a sentence."""

import math
import signal
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager

from sklearn.exceptions import DataConversionWarning

from fairlevel.exceptions import FairLevelError

CPU_SECONDS, WALL_SECONDS = 60, 900  # a case takes a second or two; on a busy machine it waits for most of the time
MOST_WARNINGS = 6


class TooLong(Exception):
    """A case that did not end."""


@contextmanager
def limited():
    def stop(*_):
        raise TooLong(f"no end within {CPU_SECONDS} s of work, or {WALL_SECONDS} s")

    before = [signal.signal(each, stop) for each in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.alarm(WALL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for each, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(each, handler)


def survey(cases, run, shown=20):
    """Run numbered cases. ``run(number)`` returns "answered" or "refused", or raises AssertionError; errors of the
    package count as refusals. Fails with the tracebacks of the first cases that did anything else.
    """
    outcomes, failures = Counter(), []
    for number in cases:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with limited():
                    outcome = run(number)
                storm = strange_warnings(caught)
                if storm:
                    outcome = "failed"
                    failures.append(f"case {number}: warnings {storm}")
            except FairLevelError as error:
                outcome = "refused"
                if not one_sentence(str(error)):
                    outcome = "failed"
                    failures.append(f"case {number}: no sentence: {error}")
            except Exception:
                outcome = "failed"
                failures.append(f"case {number}: {traceback.format_exc(limit=-4)}")
        outcomes[outcome] += 1
        if outcome == "failed":
            print(f"\n{failures[-1]}", flush=True)
        if number % 100 == 99:
            print(f"\n{number + 1}: {dict(outcomes)}", flush=True)
    print(f"\n{dict(outcomes)}")
    assert not failures, "\n\n".join(failures[:shown])
    assert outcomes["answered"] > 0.15 * len(cases), outcomes  # or nothing much was tried
    return outcomes


def strange_warnings(caught):
    """Warnings that are not the package's own, or too many of those."""
    foreign = [f"{each.category.__name__}: {each.message} ({each.filename})" for each in caught if not _own(each)]
    return foreign or ([str(each.message) for each in caught] if len(caught) > MOST_WARNINGS else [])


def _own(warning):
    """Of the package, or the one that scikit-learn's contract asks for where y is a column."""
    return warning.category is DataConversionWarning or warning.category.__module__.startswith("fairlevel")


def one_sentence(message):
    """Something to read: words and an end, on one line, without the names of Python's errors."""
    return 20 < len(message) < 1500 and "\n" not in message.strip() and "Traceback" not in message


def all_finite(value, path=""):
    """Every number inside a value of JSON is finite."""
    if isinstance(value, dict):
        for name, each in value.items():
            all_finite(each, f"{path}/{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            all_finite(each, f"{path}/{number}")
    elif isinstance(value, float):
        assert math.isfinite(value), f"{path} is {value}"


def plausible_interval(found, variance):
    """An interval of DPVar (as a dictionary) for a prediction of this variance."""
    assert 0 <= found["low"] <= found["high"], found
    assert found["low"] <= max(found["estimate"], 0) * (1 + 1e-9) <= found["high"] * (1 + 1e-6), found
    assert abs(found["estimate"]) <= 2 * variance * (1 + 1e-6), (found, variance)
    assert 0 <= found["share_low"] <= found["share"] + 1e-9 <= found["share_high"] + 2e-9 <= 1 + 3e-9, found
    assert 0 < found["p_value"] <= 1, found
