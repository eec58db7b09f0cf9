"""Libraries: how a path gets its candidates. One file each, one row each in the table below."""

from collections.abc import Callable

from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.libraries.mixed import Mixed
from fairlevel.libraries.penalty_grid import PenaltyGrid
from fairlevel.libraries.protocol import Library, Solver
from fairlevel.libraries.spectral import Spectral
from fairlevel.penalties import PENALTIES, Penalty

SOLVERS: dict[str, Callable[[], Solver]] = {
    "auto": Mixed,  # several cheap families
    "spectral": Spectral,  # two networks and an eigendecomposition
}


def resolve_solver(solver: str | Penalty | Solver) -> Solver:
    """A solver from its name, from the name of a penalty (a grid over its weight), from a penalty object, or itself."""
    if isinstance(solver, str):
        if solver in SOLVERS:
            return SOLVERS[solver]()
        if solver in PENALTIES:
            return PenaltyGrid(PENALTIES[solver]())
        raise UnknownName("solver", solver, (*SOLVERS, *PENALTIES))
    if isinstance(solver, type):
        raise InvalidType(f"solver={solver!r} is a class; an object is needed, such as {solver.__name__}().")
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, Penalty):
        return PenaltyGrid(solver)
    raise InvalidType(
        f"solver={solver!r} was given; a name ({', '.join((*SOLVERS, *PENALTIES))}) or an object is needed."
    )


__all__ = ["SOLVERS", "Library", "Mixed", "PenaltyGrid", "Solver", "Spectral", "resolve_solver"]
