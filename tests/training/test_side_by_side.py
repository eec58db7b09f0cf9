import threading

import pytest
import torch

from fairlevel.training.side_by_side import Abandoned, side_by_side


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order(workers):
    assert side_by_side(lambda tile, go_on: tile**2, range(20), workers) == [tile**2 for tile in range(20)]


def test_workers_multiply_by_themselves_and_the_number_of_threads_comes_back():
    before = torch.get_num_threads()
    assert side_by_side(lambda tile, go_on: torch.get_num_threads(), range(4), 2) == [1] * 4
    assert torch.get_num_threads() == before
    seen = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [before]


def test_a_failure_stops_the_others():
    both, ends = threading.Barrier(2), []

    def work(tile, go_on):
        both.wait(timeout=10)
        if tile == 0:
            raise ValueError("tile 0")
        try:
            while True:
                go_on()
        except Abandoned:
            ends.append(tile)
            raise

    with pytest.raises(ValueError, match="tile 0"):
        side_by_side(work, range(2), 2)
    assert ends == [1]
