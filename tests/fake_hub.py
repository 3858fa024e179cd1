"""A Hugging Face hub of one repository, `lab/toy`: as much of its API as fetching it takes."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "1" * 40


def serve(folder: Path) -> ThreadingHTTPServer:
    """A server for the files of `folder`; its caller runs `serve_forever` and shuts it down."""

    class Hub(_Hub):
        files = folder

    return ThreadingHTTPServer(("127.0.0.1", 0), Hub)


class _Hub(BaseHTTPRequestHandler):
    files: Path

    def do_GET(self) -> None:
        path = self.path.split("?")[0].removeprefix("/")
        if path.startswith("api/models/lab/toy/revision/"):
            self._send(json.dumps({"id": "lab/toy", "sha": COMMIT, "siblings": []}).encode())
        elif path.startswith("api/models/lab/toy/tree/"):
            self._send(json.dumps([self._entry(file) for file in self.files.iterdir()]).encode())
        elif path.startswith("lab/toy/resolve/"):
            self._send_file(self.files / path.rsplit("/", 1)[1])
        else:
            self._refuse(*((403, "GatedRepo") if "gated" in path else (404, "RepoNotFound")))

    do_HEAD = do_GET

    def _entry(self, file: Path) -> dict:
        return {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": file.name}

    def _send_file(self, file: Path) -> None:
        if not file.exists():
            return self._refuse(404, "EntryNotFound")
        return self._send(file.read_bytes(), ETag=f'"{file.name}"', X_Repo_Commit=COMMIT)

    def _send(self, body: bytes, **headers: str) -> None:
        self.send_response(200)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _refuse(self, code: int, reason: str) -> None:
        self.send_response(code)
        self.send_header("X-Error-Code", reason)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Keep requests off the tests' output."""
