"""Variants of a protocol: each changes one point of it, and is one row of the table below.

``paper2k+short_diagnostic`` is the protocol ``paper2k`` with the variant ``short_diagnostic``. Variants of a method,
such as GDP with its authors' nodes, are methods of their own (``benchmark/methods.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from fairlevel.benchmark.protocol import ADAM_RATE, PROTOCOLS, Protocol
from fairlevel.exceptions import UnknownName
from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.networks.optimizers import Adam, GradientDescent


class Variant(NamedTuple):
    """What becomes of a protocol, and one line of help."""

    change: Callable[[Protocol], Protocol]
    line: str


def _with_adam(protocol: Protocol) -> Protocol:
    return replace(protocol, optimizer=Adam(steps=protocol.optimizer.steps), rate_scale=ADAM_RATE)


VARIANTS: dict[str, Variant] = {
    "descent": Variant(
        lambda protocol: replace(protocol, optimizer=GradientDescent(steps=1000), rate_scale=1.0),
        "1000 steps of gradient descent for every method",
    ),
    "adam": Variant(_with_adam, "as many steps of Adam for every method"),
    "stopped": Variant(
        lambda protocol: replace(_with_adam(protocol), stopped=True), "Adam, each model stopped where it is best on VAL"
    ),
    "short_diagnostic": Variant(
        lambda protocol: replace(protocol, diagnostic=MLPMean(optimizer=GradientDescent(0.1, 200))),
        "the diagnostic of 0.1: 200 steps of 0.1",
    ),
    "adam_diagnostic": Variant(
        lambda protocol: replace(protocol, diagnostic=MLPMean()), "a diagnostic of 300 steps of Adam"
    ),
    "listed_weights": Variant(
        lambda protocol: replace(protocol, coarse=protocol.weights, rounds=0),
        "weights from the method's list, whatever they do",
    ),
    "apart": Variant(
        lambda protocol: replace(protocol, indicators="apart"),
        "indicators of a text column become sensitive one by one",
    ),
}


def resolve_protocol(name: str) -> Protocol:
    """A protocol from its name, or from its name and those of variants, joined by +."""
    base, *variants = name.split("+")
    if base not in PROTOCOLS:
        raise UnknownName("protocol", base, PROTOCOLS)
    protocol = PROTOCOLS[base]()
    for variant in variants:
        if variant not in VARIANTS:
            raise UnknownName("variant of a protocol", variant, VARIANTS)
        protocol = VARIANTS[variant].change(protocol)
    return replace(protocol, name=name)
