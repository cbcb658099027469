"""A stand-in for the GraphQL endpoint of Weights & Biases that keeps the views it is given."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROJECT = {"id": "cHJvamVjdA==", "name": "lft", "entityName": "me", "internalId": "cHJvamVjdA=="}


@contextmanager
def fake_server(refuse=""):
    """The address of a server, and the list of views saved at it; refuses what names `refuse`."""
    views = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content, answer = self.rfile.read(int(self.headers["Content-Length"])), {}
            # What else the client sends home is none of a dashboard's business.
            if self.path.endswith("/graphql"):
                request = json.loads(content)
                answer = self.answer(request["query"], request.get("variables") or {})
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def answer(self, query, variables):
            if refuse and refuse in query:
                return {"data": None, "errors": [{"message": "permission denied"}]}
            if "upsertView" in query:
                views.append({**variables, "spec": json.loads(variables["spec"])})
                view = {"id": f"view{len(views)}", "name": variables["name"], "type": variables["type"]}
                view |= {"displayName": variables["displayName"], "spec": variables["spec"]}
                view |= {"description": "", "project": PROJECT, "updatedAt": None}
                return {"data": {"upsertView": {"view": view, "inserted": True}}}
            page = {"hasNextPage": False, "endCursor": None}
            listed = {**PROJECT, "createdAt": "2026-01-01", "isBenchmark": False, "user": None}
            projects = {"edges": [{"node": listed, "cursor": ""}], "pageInfo": page}
            viewer = {"id": "me", "entity": "me", "username": "me", "flags": "{}", "admin": False}
            viewer |= {"teams": {"edges": []}, "apiKeys": {"edges": []}, "email": "", "name": "me"}
            return {"data": {"project": PROJECT, "models": projects, "viewer": viewer, "serverInfo": {}}}

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", views
    finally:
        server.shutdown()
