"""The program with a simulated instance and a console, for the tests of the console from outside."""

import json
import os
import resource
import signal
import socket
import subprocess
import time
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "token-of-the-operator-1"
TITLE = "<img src=x onerror=document.title='owned'> & \"quoted\""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, check, limit=20):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        result = check()
        if result:
            return result
        time.sleep(0.2)
    raise SystemExit(f"FAILED: {what} did not happen within {limit} s")


def few_files():
    """As under systemd: few files may be open, unless a program asks for more."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class Refusing(BaseHTTPRequestHandler):
    """A receiver that refuses every message for good."""

    def do_POST(self):
        self.send_response(422)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Site:
    """The program with a simulated instance and a console."""

    def __init__(self, program, folder):
        self.port, instance = free_port(), free_port()
        receiver = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        self.instance = f"http://127.0.0.1:{instance}"
        os.makedirs(folder + "/rules")
        with open(folder + "/bellhop.yaml", "w") as file:
            file.write(
                f"""version: 1
console: {{listen: "127.0.0.1:{self.port}", users: [{{name: ada, token: {TOKEN}, role: admin}}], edit: true}}
connections:
  snow: {{kind: servicenow, instance: "http://127.0.0.1:{instance}", auth: {{basic: {{username: john.doe, password: secret}}}}}}
  hook: {{kind: webhook, url: "http://127.0.0.1:{receiver.server_port}/"}}
sources:
  my-work: {{kind: tracker, connection: snow, every: 1s}}
"""
            )
        with open(folder + "/rules/a.yaml", "w") as file:
            file.write(
                """rule: acknowledge
on: task_created
when: task.number != ""
do:
  - comment: Thanks, ${{ task.number }} is in my queue.
---
rule: tell
on: task_created
do:
  - notify: {to: hook, title: "New: ${{ task.number }}", text: "${{ task.title }}"}
---
rule: morning
on: {schedule: "30 8 * * MON-FRI"}
quiet: {hours: "22:00-07:00"}
do:
  - notify: {to: hook, text: Good morning}
"""
            )
        with open(folder + "/rules/a.test.yaml", "w") as file:
            file.write(
                """tests:
  - name: a new task is told
    given:
      - task_created: {task: {id: a1, number: INC1, title: Mail}}
    expect:
      - comment: {task: a1}
      - notify: {to: hook}
"""
            )
        environment = dict(os.environ, XDG_CONFIG_HOME=folder)
        self.log = open(folder + "/log", "w")
        self.processes = []
        self.processes += [
            subprocess.Popen([program, "simulate", "--port", str(instance), "--still"], stdout=self.log, stderr=self.log),
            subprocess.Popen(
                [program, "run"], cwd=folder, env=environment, stdout=self.log, stderr=self.log, preexec_fn=few_files
            ),
        ]
        self.address = f"http://127.0.0.1:{self.port}"

    def begin(self):
        """Waits for the agent, and lets a few things happen."""
        wait_for("the first poll", lambda: any(s["last_poll"] for s in self.get("/status")["sources"]))
        for title in [TITLE, "Mail is down", "The printer burns, and nobody has a key to its room. " * 8]:
            self.new_task(title)
        wait_for("the dead messages", lambda: len(self.get("/deliveries?state=dead")["deliveries"]) == 3)

    def get(self, path):
        request = urllib.request.Request(self.address + "/api/v1" + path, headers={"Authorization": "Bearer " + TOKEN})
        try:
            return json.load(urllib.request.urlopen(request))
        except OSError:
            return {"sources": [], "deliveries": []}

    def post(self, address, body):
        fields = {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN}
        urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), fields))

    def new_task(self, title):
        self.post(f"{self.instance}/simulator/tasks", {"title": title, "assigned_to": "john.doe"})

    def stop(self):
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(30)
