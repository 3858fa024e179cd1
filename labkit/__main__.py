"""`python -m labkit`: the command line of `labkit.cli`, for pipes and odd terminals too."""

import os
import sys

from labkit.cli import main


def run() -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a terminal may lack a character of the text
    try:
        code = main()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `| head` has read enough; leave nothing for the flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(run())
