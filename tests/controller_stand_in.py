"""The controller's HTTP contract for one run, for drivers under test."""

import json
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from orchestrator.runtime.controller import ASSIGNMENT


class ControllerStandIn:
    """Speaks the controller's HTTP contract for one run: hands out its assignment and notes what it is told."""

    def __init__(self, assignment):
        self.assignment = assignment
        self.attempts = 0
        self.events = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/v1/runs":
                    stand_in.attempts += 1
                    answer = ASSIGNMENT.dump_json(replace(stand_in.assignment, attempt=stand_in.attempts))
                else:
                    assert self.path == f"/v1/runs/{assignment.run_id}/events"
                    stand_in.events.append(body)
                    answer = b"{}"
                self.send_response(200)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def told(self, *kinds):
        """Data of the events of these kinds, in order, with the message."""
        return [{"kind": e["kind"], "message": e["message"], **e["data"]} for e in self.events if e["kind"] in kinds]
