"""A Hub on this machine: repositories under /owner/name/resolve/revision/file, and storage it redirects to.

The storage stands on a second port, as the Hub's does on another host. It serves byte ranges, counts the bytes it
sends, and misbehaves as told: each fault is used up by one request.
"""

import hashlib
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from huggingface_hub import constants, file_download

COMMIT = "0123456789abcdef0123456789abcdef01234567"
Fault = Callable[["StorageHandler", bytes], None]  # what to do instead of sending the range


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type, hub: "FakeHub") -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.hub = hub
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request, client_address) -> None:
        pass  # a client that leaves


class FakeHub:
    """Repositories as folders, the storage's faults, and what was asked and served.

    Args:
        root: repositories lie in root/owner/name.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.faults: deque[Fault] = deque()
        self.answers: dict[str, int] = {}  # file: status that the Hub itself gives
        self.gated: set[str] = set()
        self.revisions = {"main", COMMIT}
        self.renamed: dict[str, str] = {}  # former id: present id
        self.served = 0  # bytes of bodies that the storage sent
        self.ranges: list[str] = []
        self.tokens_at_storage: list[str | None] = []
        self.lock = threading.Lock()
        self.hub, self.storage = Server(HubHandler, self), Server(StorageHandler, self)

    def stand_in(self, monkeypatch, caches: Path) -> None:
        """Be the Hub, as HF_ENDPOINT says before huggingface_hub is imported, with caches of one's own."""
        self.monkeypatch = monkeypatch
        for name, value in (("HF_HUB_CACHE", "cache"), ("HF_ASSETS_CACHE", "assets")):
            monkeypatch.setattr(constants, name, str(caches / value))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        self.go_away(self.hub.url)

    def go_away(self, endpoint: str = "http://127.0.0.1:9") -> None:
        """Be found at another address, or not at all."""
        template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        self.monkeypatch.setattr(constants, "ENDPOINT", endpoint)
        self.monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        self.monkeypatch.setattr(file_download, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)  # before 1.0

    def close(self) -> None:
        for server in (self.hub, self.storage):
            server.shutdown()
            server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version, counts = "HTTP/1.1", False

    def log_message(self, *args) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
        """A body of the length announced, or another."""
        length = len(body) if length is None else length
        self.send_response(status)
        for name, value in (headers | {"Content_Length": str(length)}).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.counts:
            with self.server.hub.lock:  # counted first, so that who has the bytes finds them counted
                self.server.hub.served += len(body)
        if self.command != "HEAD":
            self.wfile.write(body)
            self.close_connection = len(body) != length


class HubHandler(Handler):
    def do_HEAD(self) -> None:
        hub = self.server.hub
        for former, present in hub.renamed.items():
            if self.path.startswith(f"/{former}/resolve/"):
                return self.answer(307, Location=self.path.replace(former, present, 1))
        owner, name, resolve, revision, file = (urlsplit(self.path).path.strip("/").split("/", 4) + [""] * 5)[:5]
        repository, path = f"{owner}/{name}", hub.root / owner / name / file
        if not (hub.root / owner / name).is_dir() or resolve != "resolve":
            return self.answer(401, X_Error_Code="RepoNotFound")
        if repository in hub.gated and self.headers.get("Authorization") != "Bearer right":
            return self.answer(401, X_Error_Code="GatedRepo")
        if revision not in hub.revisions:
            return self.answer(404, X_Error_Code="RevisionNotFound")
        if file in hub.answers:
            return self.answer(hub.answers[file])
        if not path.is_file():
            return self.answer(404, X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
        tag = f'"{hashlib.sha256(repr((file, path.stat())).encode()).hexdigest()}"'
        common = {"X_Repo_Commit": COMMIT, "ETag": tag}
        if path.suffix == ".json":
            return self.answer(200, path.read_bytes(), **common)
        place = f"{hub.storage.url}/{owner}/{name}/{file}"
        size = {"X_Linked_Size": str(path.stat().st_size), "X_Linked_ETag": tag}
        return self.answer(302, Location=place, **common, **size)

    do_GET = do_HEAD


class StorageHandler(Handler):
    counts = True

    def do_GET(self) -> None:
        hub, asked = self.server.hub, self.headers.get("Range")
        whole = (hub.root / self.path.strip("/")).read_bytes()
        with hub.lock:
            hub.ranges.append(asked)
            hub.tokens_at_storage.append(self.headers.get("Authorization"))
            fault = hub.faults.popleft() if hub.faults else None
        if asked is None:
            return self.answer(200, whole)
        first, last = map(int, asked.removeprefix("bytes=").split("-"))
        self.span, data = f"bytes {first}-{last}/{len(whole)}", whole[first : last + 1]
        return self.answer(206, data, Content_Range=self.span) if fault is None else fault(self, data)


def status(code: int, **headers: str) -> Fault:
    """An error instead of the bytes."""
    return lambda handler, data: handler.answer(code, b"sorry", **headers)


def moved(handler: StorageHandler, data: bytes) -> None:
    """Another redirect, by the storage itself."""
    handler.answer(302, Location=f"{handler.server.url}{handler.path}")


def drop_after(count: int) -> Fault:
    """The connection breaks after so many bytes."""
    return lambda handler, data: handler.answer(206, data[:count], len(data), Content_Range=handler.span)


def hang_up(handler: StorageHandler, data: bytes) -> None:
    """The connection breaks before any answer."""
    handler.close_connection = True


def whole_file(handler: StorageHandler, data: bytes) -> None:
    """No support for ranges: the file from its beginning."""
    handler.answer(200, data * 2)


def other_range(handler: StorageHandler, data: bytes) -> None:
    """As many bytes, said to be from elsewhere."""
    handler.answer(206, data, Content_Range="bytes 1-" + handler.span.partition("-")[2])


def large_file(handler: StorageHandler, data: bytes) -> None:
    """No support for ranges, and a file of 256 MB, sent until the client leaves."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(2**28))
    handler.end_headers()
    handler.close_connection = True
    for _ in range(2**8):
        handler.wfile.write(bytes(2**20))
        handler.server.hub.served += 2**20
