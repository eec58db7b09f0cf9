"""How a study is run, as one frozen value: two results are comparable when their protocol ids agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256

from fairlevel.candidates import Limits
from fairlevel.conditional_mean import MLPMean
from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel.fronts.selection import ZETAS
from fairlevel.networks.optimizers import Adam, GradientDescent, Optimizer


@dataclass(frozen=True)
class Protocol:
    """Everything a method may not choose for itself.

    Parameters
    ----------
    name : what people call it
    optimizer : how predictors are trained; its step size is replaced by that of each setting
    rate_scale : factor on every setting's outer step size (settings are written for gradient descent)
    settings : settings a method may try, at most
    weights : penalty weights a setting may try, at most
    coarse : weights tried before refinement
    rounds : rounds of refinement; 0 trains the coarse grid only
    most_rows : larger tables are cut to this many rows, drawn by seed
    split : shares of IN, OUT, VAL and TEST
    clip : standardised X and A are clipped at ± this
    diagnostic : the network of the paper's cross-fitted DPVar; plain gradient descent, stopped early
        (docs/decisions.md)
    zetas : weights of DPVar in the choice on VAL
    """

    name: str
    optimizer: Optimizer = GradientDescent(steps=1000)
    rate_scale: float = 1.0
    settings: int = 8
    weights: int = 12
    coarse: int = 5
    rounds: int = 2
    most_rows: int = 20_000
    split: tuple[float, float, float, float] = (0.3, 0.3, 0.2, 0.2)
    clip: float = 5.0
    diagnostic: MLPMean = MLPMean(optimizer=GradientDescent(learning_rate=0.1, steps=200))
    zetas: tuple[float, ...] = tuple(ZETAS.tolist())

    def __post_init__(self) -> None:
        if min(self.settings, self.weights, self.coarse) < 1 or self.rounds < 0:
            raise InvalidInput("settings, weights and coarse must be at least 1, rounds at least 0.")
        if min(self.split) <= 0 or abs(sum(self.split) - 1) > 1e-9:
            raise InvalidInput(f"split={self.split} was given; four positive shares that sum to 1 are needed.")

    @property
    def id(self) -> str:
        """A short name that changes with any of the values above."""
        return f"{self.name}-{sha256(repr(self).encode()).hexdigest()[:10]}"

    @property
    def candidates(self) -> int:
        """Models a method may train, at most."""
        return self.settings * self.weights

    @property
    def limits(self) -> Limits:
        """The same as limits of a source of candidates."""
        return Limits(self.candidates, self.settings, self.weights, self.coarse, self.rounds)

    @classmethod
    def paper(cls) -> Protocol:
        """Full-batch gradient descent, 8 settings × up to 12 weights, refined on VAL."""
        return cls("paper")

    @classmethod
    def adam(cls) -> Protocol:
        """The paper's, with Adam for every method: models that are trained to the end."""
        return cls("adam", optimizer=Adam(steps=1000), rate_scale=0.05)

    @classmethod
    def small(cls) -> Protocol:
        """For a laptop: at most 2000 rows, 2 settings × 6 weights, 400 steps of Adam, no refinement."""
        return cls(
            "small",
            optimizer=Adam(steps=400),
            rate_scale=0.05,
            settings=2,
            weights=6,
            coarse=6,
            rounds=0,
            most_rows=2000,
        )

    @classmethod
    def medium(cls) -> Protocol:
        """For a GPU and a coffee: at most 4000 rows, 4 settings × 6 weights, 500 steps of Adam, no refinement."""
        return replace(cls.small(), name="medium", optimizer=Adam(steps=500), settings=4, most_rows=4000)


PROTOCOLS: dict[str, Callable[[], Protocol]] = {
    "paper": Protocol.paper,
    "adam": Protocol.adam,
    "medium": Protocol.medium,
    "small": Protocol.small,
}


def resolve_protocol(name: str) -> Protocol:
    """A protocol from its name."""
    if name not in PROTOCOLS:
        raise UnknownName("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]()
