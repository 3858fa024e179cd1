"""Settings of a whole test run, made before anything imports torch.

Tests run in two processes at once. With two threads each, torch's on two cores spin against each
other and take a hundred times as long: so one thread for each process and the kernels it starts.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
