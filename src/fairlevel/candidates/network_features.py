"""What a small network has learnt of x, as features of a linear head: scikit-learn's, so that no PyTorch is needed."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateKey, CandidateSet, candidate_table
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.networks import NetworkMembers
from fairlevel.training.rows import AllRows

FAMILY = "network"


def fitted_network(rows: AllRows, hidden: tuple[int, ...], seed: int) -> CandidateSet:
    """A tanh network with these widths, fitted to y, as the only candidate. A tenth of the rows stops its training. Row
    weights are left to the head: they do not change what the network is a function of.
    """
    input_map = InputMap.standardising(rows.x_scaler)
    network = MLPRegressor(
        hidden_layer_sizes=hidden,
        activation="tanh",
        learning_rate_init=3e-3,
        alpha=1e-3,
        max_iter=300,
        early_stopping=True,
        n_iter_no_change=15,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the features are good enough before
        network.fit(input_map(np.asarray(rows.rows.x, dtype=np.float64)), rows.rows.y)
    layout = Layout(rows.rows.x.shape[1], hidden)
    parameters = np.zeros((1, layout.size))
    for layer, weight, bias in zip(layout.layers, network.coefs_, network.intercepts_, strict=True):
        parameters[0, layer.weight], parameters[0, layer.bias] = weight.ravel(), bias
    table = candidate_table([CandidateKey(FAMILY, 0.0, 0)], FAMILY, int(network.n_iter_))
    return CandidateSet(table, (NetworkMembers(layout, input_map, parameters),), np.eye(1), (NO_HISTORY,))
