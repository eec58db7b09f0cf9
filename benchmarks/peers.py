"""Other people's packages doing our job, as their documentation has it: ``pip install ./study[peers]``."""

import torch

from benchmarks.naive import network


def train_fairlearn(x, y, a, steps):
    """fairlearn's adversarial regressor on all rows at once: networks as ours, one step of the critic a step."""
    from fairlearn.adversarial import AdversarialFairnessRegressor

    layers = [64, torch.nn.Tanh(), 64, torch.nn.Tanh()]
    model = AdversarialFairnessRegressor(
        backend="torch", predictor_model=layers, adversary_model=list(layers), epochs=steps, batch_size=-1, alpha=1.0
    )
    return model.fit(x.numpy(), y.numpy(), sensitive_features=a.numpy())


def train_maxcorr(x, y, a, steps, weight=1.0, inner_steps=10, rate=0.1):
    r"""maxcorr's neural HGR as a penalty in a loop of PyTorch.

    Without a transformation of the prediction, max over h of corr(h(A), f)² is Var E[f|A] / Var f: the share of DPVar.
    """
    from maxcorr import hgr

    indicator = hgr(
        algorithm="nn",
        backend="torch",
        f_units=(64, 64),
        g_units=None,
        num_features=(a.shape[1], 1),
        epochs_start=inner_steps,
        epochs_successive=inner_steps,
    )
    model = network(x.shape[1])
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        prediction = model(x).squeeze(1)
        loss = (prediction - y).square().mean() + weight * indicator.compute(a, prediction) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
