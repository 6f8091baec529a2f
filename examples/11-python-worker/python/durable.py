"""Durable tasks in Python, over HTTP, with the standard library only.

    worker = Worker("http://localhost:7007", token)

    @worker.task("greet")
    def greet(ctx, name):
        text = ctx.step("text", lambda: f"Hello {name}")
        ctx.sleep("a day", 24 * 3600)
        return text

    worker.run()

A handler runs again from its beginning after a crash or a wait. Recorded steps return their results without running. Time, chance and
the network belong into steps. The protocol is described in docs/remote-workers.md.
"""

import http.client
import itertools
import json
import sys
import threading
import time
import urllib.error
import urllib.request


class Retry(Exception):
    """Raise it in a handler: the task is tried again, in a new attempt, after `delay` seconds."""

    def __init__(self, message, delay=0.0):
        super().__init__(message)
        self.delay = delay


class StepFailed(Exception):
    """A step that failed in an earlier pass, whose failure was recorded."""


class Refused(Exception):
    """The server refused a request; `code` says why."""

    def __init__(self, status, code, detail):
        super().__init__(f"{status} {code}: {detail}")
        self.status, self.code = status, code


class TookTooLong(Exception):
    """The task's `timeoutMs` is over."""


class Away(Exception):
    """The server does not answer, and the worker was stopped."""


class PassOver(BaseException):
    """This run of the handler is over. It is no Exception, so that a handler's `except Exception` does not catch it."""


class GiveBack(BaseException):
    """The scheduler wants the slot for a more urgent task: this one goes back to the queue, with all that it recorded."""


class Worker:
    """Runs tasks of a server. `capacity` is how many it runs at once, each in a thread of its own. A server that has no tokens wants none."""

    def __init__(self, url, token=None, capacity=4):
        self._base, self._token, self._capacity = f"{url.rstrip('/')}/api/v1/workers", token, capacity
        self._handlers, self._held, self._calls = {}, {}, itertools.count(1)
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._id, self._stopped_at = None, None

    def task(self, name):
        """Decorates the handler of a task type: it takes the context and the input, and returns the output."""
        return lambda handler: self._handlers.setdefault(name, handler)

    def run(self):
        """Claims and runs tasks until `stop` is called."""
        try:
            self._register()
            threading.Thread(target=self._beat, daemon=True).start()
            while self._stopped_at is None:
                self._poll()
            while self._leases():
                time.sleep(0.05)
            self._ask("DELETE", f"/{self._id}")
        except Away:
            # What runs still ends, or finds the server away by itself. The server sees that this worker is gone.
            while self._leases():
                time.sleep(0.05)

    def _poll(self):
        try:
            polled = {"held": self._leases(), "waitMs": 5_000}
            for claim in self._ask("POST", f"/{self._id}/claims", polled)["claims"]:
                self._start(claim)
        except Refused as refused:
            if refused.code != "no_such_worker":
                raise
            self._register()

    def stop(self):
        """Ends `run` after the present request for claims, 5 seconds at most, and the running tasks.

        A server that is away holds nothing up: nobody waits for it any more, but for 5 seconds to record what a task has done.
        """
        self._stopped_at = time.monotonic()

    def write(self, lease, path, body):
        """One request about a lease. If its answer is lost, it is sent again under the same number, and is not done twice."""
        with self._writing:
            try:
                numbered = {**body, "call": next(self._calls)}
                return self._ask("POST", f"/{self._id}/leases/{lease}/{path}", numbered, patience=5)
            except Away:
                raise PassOver from None  # The lease runs out, and another worker goes on.
            except Refused as refused:
                if refused.code in ("lease_lost", "no_such_worker"):
                    raise PassOver from None
                raise

    def _register(self):
        # The leases of an earlier registration are over: their handlers stop at their next call.
        with self._lock:
            for context in self._held.values():
                context.is_over = True
            self._held.clear()
        answer = self._ask("POST", "", {"types": list(self._handlers), "capacity": self._capacity})
        self._id, self._every = answer["workerId"], answer["heartbeatMs"] / 1000

    def _start(self, claim):
        context = Context(self, claim)
        with self._lock:
            # A claim that is given again because its first answer was late.
            if claim["leaseId"] in self._held:
                return
            self._held[claim["leaseId"]] = context
        threading.Thread(target=self._pass, args=(context, claim), daemon=True).start()

    def _pass(self, context, claim):
        try:
            output = self._handlers[claim["type"]](context, claim["input"])
            end = {"as": "completed", "output": output}
        except PassOver:
            return self._drop(claim["leaseId"])
        except GiveBack:
            end = {"as": "released"}
        except Retry as retry:
            end = {"as": "retry", "delayMs": retry.delay * 1000, "error": error_of(retry)}
        except TookTooLong as error:
            end = {"as": "failed", "kind": "timeout", "error": error_of(error)}
        except Exception as error:  # A handler may raise anything, and each is the failure of its task only.
            end = {"as": "failed", "error": error_of(error)}
        try:
            context.request("settle", end)
        except PassOver:
            pass  # Another worker has the task.
        except (Refused, TypeError, ValueError) as refused:
            # The output is no JSON, or is too large.
            context.request("settle", {"as": "failed", "kind": "invalid_output", "error": error_of(refused)})
        finally:
            self._drop(claim["leaseId"])

    def _drop(self, lease):
        with self._lock:
            self._held.pop(lease, None)

    def _leases(self):
        with self._lock:
            return list(self._held)

    def _beat(self):
        while True:
            time.sleep(self._every)
            held = self._leases()
            if not held:
                continue
            try:
                news = self._ask("POST", f"/{self._id}/heartbeat", {"held": held})["news"]
            except (Refused, Away):
                continue  # The next request for claims registers again.
            with self._lock:
                for item in news:
                    context = self._held.get(item["leaseId"])
                    if context and item["verdict"] == "yield":
                        context.is_wanted_back = True
                    elif context:
                        context.is_over = True
                        del self._held[item["leaseId"]]

    def _ask(self, method, path, body=None, patience=0):
        """Sends a request again until the server has answered it, and says once if that takes long: a server that restarts is a pause.

        Once the worker was stopped, it does so for `patience` more seconds.
        """
        data = json.dumps(body, allow_nan=False).encode() if body is not None else None
        headers = {"content-type": "application/json"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        for tries in itertools.count():
            try:
                request = urllib.request.Request(self._base + path, data, headers, method=method)
                with urllib.request.urlopen(request, timeout=15) as answer:
                    text = answer.read()
                    return json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                problem = json.loads(error.read() or b"{}")
                if error.code not in (429, 502, 503, 504):
                    raise Refused(error.code, problem.get("code"), problem.get("detail")) from None
                why = error
            except (OSError, http.client.HTTPException) as error:
                why = error
            if self._stopped_at is not None and time.monotonic() >= self._stopped_at + patience:
                raise Away
            if tries == 3:
                print(f"no answer from {self._base}: {why}; asks again until there is one", file=sys.stderr, flush=True)
            time.sleep(min(0.1 * 2**tries, 2))


class Context:
    """What a handler works with. Make its calls one after the other, in the same order in every pass."""

    def __init__(self, worker, claim):
        memos = claim["memos"]
        self._worker, self._lease, self._position = worker, claim["leaseId"], 0
        self._steps = {memo["key"]: memo["result"] for memo in memos["steps"]}
        self._waits = {memo["key"]: memo for memo in memos["waits"]}
        self._failures = {memo["key"]: memo["error"] for memo in memos["failures"]}
        self._deadline = time.monotonic() + claim["timeoutMs"] / 1000 if "timeoutMs" in claim else None
        self.task_id, self.attempt, self.is_over = claim["taskId"], claim["attempt"], False
        self.model = claim.get("model")
        self.is_wanted_back = False

    def step(self, key, run, attempts=1, delay=1.0):
        """Returns the recorded result of `key`, or calls `run` and records what it returns, before it returns it.

        If `run` raises, it is called again after `delay` seconds, `attempts` times in all.
        """
        position = self._next()
        if key in self._steps:
            return self._steps[key]
        if key in self._failures:
            raise StepFailed(f"{key}: {self._failures[key]}")
        return self._run_step(key, position, run, attempts, delay)

    def effect(self, key, run):
        """A step whose effect outside must not be done twice unseen: `run` gets an idempotency key, the same in every pass."""
        position = self._next()
        if key in self._steps:
            return self._steps[key]
        begun = self.request("steps", {"as": "begun", "key": key, "position": position})
        return self._run_step(key, position, lambda: run(begun["idempotencyKey"]), 1, 0)

    def sleep(self, key, seconds):
        """Waits without a thread: the pass ends, and the handler runs again when the time is over."""
        self._wait(key, {"kind": "sleep", "ms": seconds * 1000})

    def wait_for_signal(self, name, timeout=None):
        """Returns the value of the signal, or None after `timeout` seconds. No thread is held meanwhile."""
        limit = {} if timeout is None else {"timeoutMs": timeout * 1000}
        return self._wait(name, {"kind": "signal", "signal": name, **limit}).get("value")

    def emit(self, *chunks):
        """Appends to the task's output stream. Call it in a step, so that a later pass does not repeat it."""
        self.request("output", {"chunks": list(chunks)})

    def request(self, path, body):
        if self.is_over:
            raise PassOver
        return self._worker.write(self._lease, path, body)

    def _run_step(self, key, position, run, attempts, delay):
        place = {"key": key, "position": position}
        for attempt in itertools.count(1):
            began = time.monotonic()
            try:
                result = run()
                json.dumps(result, allow_nan=False)
            except Exception as error:
                again = {"retry": attempt} if attempt < attempts else {}
                took = {"durationMs": (time.monotonic() - began) * 1000}
                self.request("steps", {"as": "failed", **place, **took, "error": error_of(error), **again})
                if not again:
                    raise
                time.sleep(delay)
            else:
                took = {"durationMs": (time.monotonic() - began) * 1000}
                answer = self.request("steps", {"as": "completed", **place, **took, "result": result})
                return result if answer["recorded"] else answer["result"]

    def _wait(self, key, wait):
        position = self._next()
        if key not in self._waits:
            answer = self.request("waits", {"waits": [{"key": key, "position": position, **wait}]})
            if answer["suspended"]:
                raise PassOver
            self._waits.update({memo["key"]: memo for memo in answer["resolved"]})
        return self._waits[key]

    def _next(self):
        if self.is_over:
            raise PassOver
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise TookTooLong("the task took longer than its timeout")
        if self.is_wanted_back:
            raise GiveBack
        self._position += 1
        return self._position - 1


def error_of(error):
    return {"name": type(error).__name__, "message": str(error)}
