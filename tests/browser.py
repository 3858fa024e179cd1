from labkit.bench.browser import *  # noqa: F403
