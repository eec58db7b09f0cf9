"""Blocks of rows in threads give what one thread gives."""

import threading

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from fairlevel import GroupMean, RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.threads import map_on_single_threads, numpy_on_one_thread, on_single_threads, use_threads


@pytest.fixture(params=[1, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_answers_come_in_order_each_from_one_thread(threads):
    found = list(map_on_single_threads(lambda item: (item**2, torch.get_num_threads()), range(30)))
    assert found == [(item**2, 1) for item in range(30)]
    assert torch.get_num_threads() == threads
    seen = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [threads]


def test_threads_stay_and_a_task_is_not_divided_again():
    def task():
        with use_threads(2):  # as an estimator with n_jobs=2 does
            return threading.get_ident(), set(on_single_threads(threading.get_ident, threading.get_ident))

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = on_single_threads(*[task] * 20)
        workers = {worker for worker, _ in found}
        assert all(inner == {worker} for worker, inner in found)
        assert threading.get_ident() not in workers
        again = set(on_single_threads(*[threading.get_ident] * 20))
        alive = {each.ident for each in threading.enumerate()}
        assert len(workers | again) <= 2
        assert workers | again <= alive
    finally:
        torch.set_num_threads(before)


def test_an_error_of_one_item_is_raised(threads):
    with pytest.raises(ZeroDivisionError):
        list(map_on_single_threads(lambda item: 1 // (item - 5), range(10)))


def test_figures_do_not_depend_on_the_number_of_threads():
    """Rows are added up block by block; four blocks, the last one shorter."""
    random = np.random.default_rng(0)
    a = np.column_stack([random.standard_normal((14_000, 2)), random.integers(0, 9, 14_000)])
    f = a.sum(axis=1) + random.standard_normal(14_000)
    before, found = torch.get_num_threads(), []
    for count in (1, 3):
        torch.set_num_threads(count)
        rows = Attributes(a)
        found += [mean.prepare(rows).apply(f[None], 1e-3) for mean in (RandomFeaturesMean(), GroupMean())]
    torch.set_num_threads(before)
    np.testing.assert_array_equal(found[:2], found[2:])


def test_numpy_uses_one_thread_and_nothing_is_left_changed():
    def numbers():
        return {each["filepath"]: each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    before, torch_before = numbers(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        known = numbers()
        with numpy_on_one_thread():
            assert torch.get_num_threads() == 2
            assert all(count == 1 for file, count in numbers().items() if "numpy" in file)
        assert (numbers(), torch.get_num_threads()) == (known, 2)
    finally:
        torch.set_num_threads(torch_before)
    assert numbers() == before
