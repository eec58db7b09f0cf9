"""Work that is measured in a process of its own: seconds and the largest memory it held."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

WORK = {}


def work(function):
    WORK[function.__name__] = function
    return function


@work
def hsic(rows):
    """One step of exact HSIC."""
    from benchmarks.problems import tensors
    from fairlevel import HSIC
    from fairlevel.conditional_mean.attributes import Attributes
    from fairlevel.networks.backend import TorchBackend
    from fairlevel.penalties.protocol import ALL_TRAINING_ROWS

    _, y, a = tensors(int(rows))
    penalty = HSIC()
    plan = ALL_TRAINING_ROWS.assign(0, int(rows))
    prepared = penalty.prepare(Attributes(a.double().numpy()), plan, {}, 0).to(TorchBackend("cpu"))
    start = time.perf_counter()
    penalty.step(y[None], prepared, penalty.init(prepared, 1, {}))
    return time.perf_counter() - start


@work
def step(penalty, rows, attributes, configs):
    """A step of training with a penalty, from the end of the first to the end of the last: set-up does not count."""
    from benchmarks.problems import engine
    from fairlevel.penalties import PENALTIES

    run, calls = engine(PENALTIES[penalty](), int(rows), int(configs), attributes=int(attributes)), []
    steps = 11 if int(rows) * int(configs) <= 100_000 else 4
    run(steps, lambda done, every: calls.append((time.perf_counter(), every)))
    (start, every), (end, _) = calls[0], calls[-1]
    return (end - start) / (every - 1) * every / steps


@work
def write_rows(file, rows, attributes):
    """The Parquet file of ``audit``, whose process would otherwise hold memory that writing has used."""
    import pyarrow as pa
    import pyarrow.parquet

    rows, attributes, start = int(rows), int(attributes), time.perf_counter()
    schema = pa.schema([(name, pa.float64()) for name in (*_names(attributes), "f")])
    with pa.parquet.ParquetWriter(file, schema) as parquet:
        for group, done in enumerate(range(0, rows, 100_000)):
            random = np.random.default_rng([0, group])
            a = random.standard_normal((attributes, min(100_000, rows - done)))
            f = np.sin(a[0]) + 0.3 * a[1] * a[2] + random.standard_normal(a.shape[1])
            parquet.write_table(pa.table([*a, f], schema=schema))
    return time.perf_counter() - start


@work
def audit(rows, attributes):
    """An audit of rows in a Parquet file, in one process."""
    from tempfile import TemporaryDirectory

    from fairlevel import audit

    with TemporaryDirectory() as folder:
        run_alone("write_rows", Path(folder) / "rows.parquet", rows, attributes)
        start = time.perf_counter()
        audit(folder, predictions="f", sensitive_features=_names(int(attributes)))
        return time.perf_counter() - start


def _names(attributes):
    return [f"a{number}" for number in range(attributes)]


def run_alone(name, *arguments):
    """Seconds, and GiB at the peak."""
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.alone", name, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    return tuple(json.loads(result.stdout.splitlines()[-1]))


def _peak():
    """Largest memory of this process in GiB; what its parent held before it does not count."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


if __name__ == "__main__":
    took = WORK[sys.argv[1]](*sys.argv[2:])
    print(json.dumps([took, _peak()]))
