"""Print the oldest versions that pyproject.toml allows, as pip's requirements: python tests/lower_bounds.py

PyTorch is not among them: pip finds its build without CUDA only for the version in constraints.txt.
"""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *extras["onnx"], *extras["trees"]]:
    if not requirement.startswith("torch>="):
        print(requirement.replace(">=", "==").replace("xgboost==", "xgboost-cpu=="))  # without its gigabyte of CUDA
