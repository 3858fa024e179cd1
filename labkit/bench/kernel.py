"""Runs a function in a fresh Jupyter kernel, because only there a widget's messages are sent.

Outside a kernel ipywidgets prepares each message and then throws it away, so a chart would look
cheaper than it is. The client here reads the messages, as a server would; it draws nothing.
"""

from __future__ import annotations

import json
from subprocess import DEVNULL
from typing import Any

TIMEOUT_S = 3600


def in_kernel(module: str, function: str, **arguments: object) -> Any:
    """`module.function(**arguments)`, called there; what it returns must be plain JSON.

    Raises RuntimeError with the kernel's traceback if the call fails.
    """
    from jupyter_client.manager import start_new_kernel

    code = (
        f"import json; from {module} import {function}\n"
        f"print(json.dumps({function}(**json.loads({json.dumps(arguments)!r}))))"
    )
    printed: list[str] = []

    def keep(message: dict) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            printed.append(message["content"]["text"])

    manager, client = start_new_kernel(kernel_name="python3", stderr=DEVNULL)
    try:
        reply = client.execute_interactive(code, timeout=TIMEOUT_S, output_hook=keep)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    if reply["content"]["status"] != "ok":
        raise RuntimeError("\n".join(reply["content"]["traceback"]))
    return json.loads("".join(printed).splitlines()[-1])
