import threading

import pytest
import torch

from fairlevel.predictors.protocol import Tiling
from fairlevel.training.threads import Cancelled, in_threads


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order(threads):
    assert in_threads(lambda tile, check: tile**2, range(20), Tiling(1, threads=threads)) == [
        tile**2 for tile in range(20)
    ]


def test_threads_multiply_by_themselves_and_the_number_of_threads_is_restored():
    before = torch.get_num_threads()
    assert in_threads(lambda tile, check: torch.get_num_threads(), range(4), Tiling(1, threads=2)) == [1] * 4
    assert in_threads(lambda tile, check: torch.get_num_threads(), range(1), Tiling(1, threads=2)) == [before]
    assert torch.get_num_threads() == before
    seen = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [before]


def test_a_failure_stops_the_others():
    both, ends = threading.Barrier(2), []

    def work(tile, check):
        both.wait(timeout=10)
        if tile == 0:
            raise ValueError("tile 0")
        try:
            while True:
                check()
        except Cancelled:
            ends.append(tile)
            raise

    with pytest.raises(ValueError, match="tile 0"):
        in_threads(work, range(2), Tiling(1, threads=2))
    assert ends == [1]


def test_a_later_failure_stops_an_earlier_tile():
    both = threading.Barrier(2)

    def work(tile, check):
        both.wait(timeout=10)
        if tile == 1:
            raise ValueError("tile 1")
        while True:
            check()

    with pytest.raises(ValueError, match="tile 1"):
        in_threads(work, range(2), Tiling(1, threads=2))
