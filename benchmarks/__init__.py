"""Speed and memory of the package, measured side by side with peers.

Settings of the whole process, made before PyTorch is imported: OpenMP threads that wait sleep, freed memory is reused.
"""

import os

from fairlevel.networks.memory import keep_freed_memory

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
keep_freed_memory()
