"""The rules of a study, as one frozen value, and variants of them: results of equal protocol ids are comparable."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256

from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel.networks.diagnostic import DIAGNOSTIC
from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.networks.optimizers import Adam, GradientDescent, Optimizer
from fairlevel_study.points import ZETAS
from fairlevel_study.refinement import StudyLimits

ADAM_RATE = 0.05  # factor on step sizes for Adam; settings are written for gradient descent


@dataclass(frozen=True)
class Protocol:
    """The rules that are the same for every method. IN and OUT are training rows: bilevel methods fit the conditional
    mean on IN and train the predictor on OUT. VAL selects models, TEST measures them.
    """

    name: str
    optimizer: Optimizer = GradientDescent(steps=1000)  # of the predictors; each setting replaces its step size
    rate_scale: float = 1.0  # factor on the step size of every setting, which is written for gradient descent
    settings: int = 8  # most settings (hyperparameters other than the weight) that a method may try
    weights: int = 12  # most penalty weights per setting
    coarse: int = 4  # weights of the pilot, the same for every method
    rounds: int = 1  # that place other weights into the largest gaps of the pilot's front; 0: ``coarse`` listed ones
    most_rows: int = 20_000  # of a larger table, sampled by seed
    split: tuple[float, float, float, float] = (0.3, 0.3, 0.2, 0.2)  # shares of IN, OUT (as large as IN), VAL and TEST
    clip: float = 5.0  # largest absolute value of standardised X and A
    diagnostic: MLPMean = DIAGNOSTIC  # network of the paper's cross-fitted DPVar
    indicators: str = "together"  # those of one text column become sensitive; or "apart", column by column
    stopped: bool = False  # whether training of each model stops where it is best on VAL
    zetas: tuple[float, ...] = tuple(ZETAS.tolist())  # weights of DPVar in the selection on VAL

    def __post_init__(self) -> None:
        if min(self.split) <= 0 or abs(sum(self.split) - 1) > 1e-9 or self.split[0] != self.split[1]:
            raise InvalidInput(
                f"split={self.split} was given; four positive shares that sum to 1 are needed, the first two alike."
            )

    @property
    def id(self) -> str:
        """The name and a hash that changes with every field. Numbers count with nine digits: the last ones of a power
        differ between processors.
        """
        text = re.sub(r"\d+\.\d+(e[+-]?\d+)?", lambda number: f"{float(number[0]):.9g}", repr(self))
        return f"{self.name}-{sha256(text.encode()).hexdigest()[:10]}"

    @property
    def limits(self) -> StudyLimits:
        """The same as limits of a source of candidates."""
        return StudyLimits(self.settings * self.weights, self.settings, self.weights, self.coarse, self.rounds)


_SMALL = Protocol("small", optimizer=Adam(steps=400), rate_scale=ADAM_RATE, settings=2, weights=6, most_rows=2000)

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        # full-batch gradient descent, 8 settings × up to 12 weights, four of them as a pilot, the others in gaps
        Protocol("paper"),
        Protocol("paper2k", most_rows=2000),
        # Adam for every method, which trains models to convergence
        Protocol("adam", optimizer=Adam(steps=1000), rate_scale=ADAM_RATE),
        # for a GPU, in minutes
        replace(_SMALL, name="medium", optimizer=Adam(steps=500), settings=4, most_rows=4000),
        # for a laptop
        _SMALL,
        # many methods, slow ones among them, on a few cores
        replace(_SMALL, name="tiny", most_rows=1000),
    )
}

SYNTHETIC_SEEDS = {"small": (0, 1), "tiny": (0, 1)}  # of the synthetic study, where these are not the paper's


def _with_adam(protocol: Protocol) -> Protocol:
    return replace(protocol, optimizer=Adam(steps=protocol.optimizer.steps), rate_scale=ADAM_RATE)


VARIANTS: dict[str, Callable[[Protocol], Protocol]] = {
    # gradient descent for every method
    "descent": lambda protocol: replace(protocol, optimizer=GradientDescent(steps=1000), rate_scale=1.0),
    # as many steps of Adam for every method
    "adam": _with_adam,
    # Adam, each model stopped where it is best on VAL
    "stopped": lambda protocol: replace(_with_adam(protocol), stopped=True),
    # the diagnostic of 0.1
    "short_diagnostic": lambda protocol: replace(protocol, diagnostic=MLPMean(optimizer=GradientDescent(0.1, 200))),
    # a diagnostic of 300 steps of Adam
    "adam_diagnostic": lambda protocol: replace(protocol, diagnostic=MLPMean()),
    # weights from the method's list, whatever they do
    "listed_weights": lambda protocol: replace(protocol, coarse=protocol.weights, rounds=0),
    # indicators of a text column become sensitive one by one
    "apart": lambda protocol: replace(protocol, indicators="apart"),
}
"""What becomes of a protocol whose name ends with + and one of these."""


def resolve_protocol(name: str) -> Protocol:
    """A protocol from its name, or from its name and those of variants, joined by +."""
    base, *variants = name.split("+")
    if base not in PROTOCOLS:
        raise UnknownName("protocol", base, PROTOCOLS)
    protocol = PROTOCOLS[base]
    for variant in variants:
        if variant not in VARIANTS:
            raise UnknownName("variant of a protocol", variant, VARIANTS)
        protocol = VARIANTS[variant](protocol)
    return replace(protocol, name=name)
