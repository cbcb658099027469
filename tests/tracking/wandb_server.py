"""A stand-in for a server of Weights & Biases: it keeps what runs send, and answers what `wandb.Api` asks."""

import io
import json
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pyarrow as pa
import pytest
import wandb
from pyarrow import parquet as pq

ENTITY, PROJECT = "me", "lft"
PAGE = {"hasNextPage": False, "endCursor": None}


@pytest.fixture(scope="module", autouse=True)
def service_of_its_own():
    """W&B's service ends with the tests of a file, or programs that later tests start would share it."""
    yield
    wandb.teardown()


@dataclass
class Held:
    """A run as the server holds it."""

    name: str
    display_name: str
    config: str = "{}"
    summary: dict = field(default_factory=dict)
    history: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    state: str = "running"

    def node(self):
        return {
            "id": f"id-{self.name}",
            "name": self.name,
            "displayName": self.display_name,
            "projectId": "1",
            "config": self.config,
            "summaryMetrics": json.dumps(self.summary),
            "state": self.state,
            "systemMetrics": "{}",
            "historyKeys": {"lastStep": self.last_step},
            "tags": [],
            "historyLineCount": len(self.history),
            "createdAt": "2026-01-01T00:00:00",
            **dict.fromkeys(
                ("sweepName", "group", "jobType", "commit", "heartbeatAt", "description", "notes")
            ),
            "readOnly": False,
            "user": {"name": "me", "username": "me"},
        }

    @property
    def last_step(self):
        return max((row["_step"] for row in self.history), default=-1)


class Server:
    """What the server holds, and the filters that it was asked with."""

    def __init__(self):
        self.runs: dict[str, Held] = {}
        self.filters: list[dict] = []
        self.address = ""
        # The run and the file whose transfer fails.
        self.broken: tuple[str, str] | None = None
        # So many of the first rows of a history are exported to Parquet, as a server does with older ones.
        self.exported_rows = 0

    def answer(self, query, variables):
        """Data of a GraphQL answer."""
        operation = query.replace("#graphql", "").split("(")[0].split("{")[0].split()[-1]
        answer = getattr(self, f"_{operation}", None)
        if answer:
            return answer(variables)
        viewer = {"id": "me", "entity": ENTITY, "username": "me", "flags": "{}", "email": "", "name": "me"}
        viewer |= {"teams": {"edges": []}, "apiKeys": {"edges": []}, "admin": False}
        return {"viewer": viewer, "serverInfo": {"features": []}, "model": None, "entity": None}

    def receive(self, run, sent):
        """Take a piece of a run's stream."""
        for name, piece in (sent.get("files") or {}).items():
            lines = [json.loads(line) for line in piece["content"] if name.endswith((".jsonl", ".json"))]
            if name == "wandb-history.jsonl":
                run.history[piece["offset"] :] = lines
            elif name == "wandb-summary.json":
                run.summary = lines[-1]
        if sent.get("complete"):
            run.state = "failed" if sent.get("exitcode") else "finished"

    def _UpsertBucket(self, variables):
        name = variables["name"]
        run = self.runs.setdefault(name, Held(name, variables.get("displayName") or name))
        run.config = variables.get("config") or run.config
        run.state = "running"
        project = {"name": PROJECT, "entity": {"name": ENTITY}}
        bucket = {"id": f"id-{name}", "name": name, "displayName": run.display_name, "project": project}
        bucket |= dict.fromkeys(("description", "config", "sweepName", "historyLineCount"))
        return {"upsertBucket": {"bucket": bucket, "inserted": True}}

    def _CreateRunFiles(self, variables):
        files = [
            {"name": name, "uploadUrl": f"{self.address}/storage/{variables['run']}/{name}"}
            for name in variables["files"]
        ]
        return {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": files}}

    def _Runs(self, variables):
        if variables["project"] != PROJECT:
            return {"project": None}
        self.filters.append(json.loads(variables["filters"]))
        newest_first = list(reversed(self.runs.values()))
        edges = [{"node": run.node(), "cursor": run.name} for run in newest_first]
        return self._project({"runCount": len(edges), "runs": {"edges": edges, "pageInfo": PAGE}})

    def _RunFiles(self, variables):
        run = self.runs[variables["name"]]
        edges = []
        for name, content in run.files.items():
            url = f"{self.address}/storage/{run.name}/{name}"
            node = {"id": name, "name": name, "url": url, "directUrl": url, "sizeBytes": str(len(content))}
            edges.append({"node": node | {"mimetype": "", "updatedAt": None, "md5": ""}, "cursor": name})
        return self._project({"run": {"fileCount": len(edges), "files": {"edges": edges, "pageInfo": PAGE}}})

    def _RunHistoryKeys(self, variables):
        return self._project({"run": {"historyKeys": {"lastStep": self.runs[variables["name"]].last_step}}})

    def _RunParquetHistory(self, variables):
        run = self.runs[variables["runName"]]
        urls = [f"{self.address}/history/{run.name}"] if self.exported_rows else []
        live = run.history[self.exported_rows :]
        return self._project({"run": {"parquetHistory": {"parquetUrls": urls, "liveData": live}}})

    def _HistoryPage(self, variables):
        steps = range(variables["minStep"], variables["maxStep"])
        rows = [json.dumps(row) for row in self.runs[variables["run"]].history if row["_step"] in steps]
        return self._project({"run": {"history": rows}})

    @staticmethod
    def _project(content):
        return {"project": {"internalId": "1", "readOnly": False, **content}}

    def exported(self, run):
        """The older rows of a history as Parquet."""
        rows = [
            {key: value for key, value in row.items() if not isinstance(value, dict)}
            for row in run.history[: self.exported_rows]
        ]
        keys = list(dict.fromkeys(key for row in rows for key in row))
        table = pa.table({key: [row.get(key) for row in rows] for key in keys})
        file = io.BytesIO()
        pq.write_table(table, file)
        return file.getvalue()


@contextmanager
def wandb_server():
    """A server that runs."""
    held = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            content, answer = self.rfile.read(int(self.headers["Content-Length"])), {}
            if self.path.endswith("/graphql"):
                asked = json.loads(content)
                answer = {"data": held.answer(asked["query"], asked.get("variables") or {})}
            elif self.path.endswith("/file_stream"):
                held.receive(held.runs[self.path.split("/")[-2]], json.loads(content))
            # What else the client sends home is no business of runs.
            self._send(answer)

        def do_PUT(self):
            _, _, run, name = unquote(self.path).split("/", 3)
            held.runs[run].files[name] = self.rfile.read(int(self.headers["Content-Length"]))
            self._send({})

        def do_GET(self):
            _, kind, run, *name = unquote(self.path).split("/", 3)
            if held.broken == (run, *name):
                self.send_error(403)
                return
            run = held.runs[run]
            self._send(held.exported(run) if kind == "history" else run.files[name[0]])

        def do_HEAD(self):
            self.do_GET()

        def _send(self, answer):
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            # A client that ends without a word is none.
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(request, client_address)

    server = Quiet(("127.0.0.1", 0), Handler)
    held.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield held
    finally:
        server.shutdown()
