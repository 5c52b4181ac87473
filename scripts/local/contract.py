"""Checks every call to the stand-in for AWS against the service's model, its documented limits and the caller's rights.

A call that breaks one of them is refused, as AWS would refuse it. The break is written to
CONTRACT_DIR/breaks.jsonl, which tests read. CONTRACT_DIR also gets a file with the number of calls by
function and operation, and the IAM actions that functions used.
"""

import atexit
import json
import os
import sys
import time
from collections import Counter
from html import escape

from limits import LIMITS, broken_limits
from rights import needs_of
from service_models import find_differences, parse_call

# Codes of errors for invalid requests. A retry of such a request fails again.
REFUSALS = {
    "ValidationException",
    "SerializationException",
    "InvalidArgumentException",
    "InvalidParameterException",
    "UnknownOperationException",
    "InvalidAction",
    "InvalidArgument",
    "InvalidParameter",
    "InvalidPart",
    "InvalidPartOrder",
    "EntityTooSmall",
    "EntityTooLarge",
    "KeyTooLongError",
    "MalformedXML",
    "MethodNotAllowed",
}
JOURNAL_SECONDS = 1


class Journal:
    def __init__(self, folder, rights):
        self.folder = folder
        self.rights = rights
        self.calls = Counter()
        self.actions = {}
        self.written = 0.0
        if folder:
            os.makedirs(folder, exist_ok=True)
            atexit.register(self.write)

    def count(self, call):
        """Counts a call."""
        self.calls[f"{call.function or '-'} {call.name}"] += 1
        if self.folder and time.monotonic() - self.written > JOURNAL_SECONDS:
            self.write()

    def add_use(self, function, needs):
        """Records the actions that a function has used."""
        self.actions.setdefault(function, set()).update(action for action, *_ in needs)

    def write(self):
        """Writes the counts, and the actions that functions used and may use."""
        self.written = time.monotonic()
        actions = {function: sorted(used) for function, used in self.actions.items()}
        file = os.path.join(self.folder, f"calls-{os.getpid()}.json")
        with open(f"{file}.new", "w") as out:
            json.dump({"calls": self.calls, "actions": actions, "allowed": self.allowed()}, out)
        os.replace(f"{file}.new", file)

    def allowed(self):
        """Returns the actions that its policies allow, for each function that has made a call."""
        by_function = self.rights.by_function if self.rights else {}
        return {
            function: sorted({action for right in by_function[function] for action in right["actions"]})
            for function in self.actions
            if function in by_function
        }

    def add_break(self, call, rule, sentence):
        """Records a call that breaks a rule of the contract."""
        found = {"rule": rule, "function": call.function, "call": call.name, "sentence": sentence}
        print(f"breaks the contract of AWS: {json.dumps(found)}", file=sys.stderr, flush=True)
        if self.folder:
            with open(os.path.join(self.folder, "breaks.jsonl"), "a") as out:
                out.write(json.dumps(found) + "\n")


def check_contract(app, rights, shard_of):
    """Wraps an app so that it gets only calls that keep the contract.

    @param rights rights.Rights; None if functions may do everything
    """
    journal = Journal(os.environ.get("CONTRACT_DIR"), rights)

    async def call_app(scope, receive, send):
        if scope["type"] != "http":
            return await app(scope, receive, send)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        body = await read_body(receive)
        # The caller has closed the connection.
        if body is None:
            return None
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
        call = parse_call(scope["method"], path, scope.get("query_string", b"").decode(), headers, body)
        if call is None:
            return await app(scope, replay_body(body, receive), send)
        found = find_differences(call)
        if found:
            journal.add_break(call, "model", "; ".join(found[:5]))
            return await refuse(send, call.service, 400, "ValidationException", found[0])
        journal.count(call)
        needs = needs_of(call)
        for rule, sentence in broken_limits(call, shard_of):
            journal.add_break(call, rule, sentence)
            if not LIMITS[rule].get("refusedByStandIn"):
                return await refuse(send, call.service, 400, "ValidationException", sentence)
        denied = rights and call.function and rights.find_refused(call.function, needs)
        if denied:
            action, resource, keys, _ = denied
            sentence = f"User: {call.function} is not authorized to perform: {action} on {resource} {keys or ''}"
            journal.add_break(call, "rights", sentence)
            return await refuse(send, call.service, 403 if call.service == "s3" else 400, "AccessDeniedException", sentence)
        if call.function:
            journal.add_use(call.function, needs)
        scope["aws_call"] = call
        return await app(scope, replay_body(body, receive), record_refusals(send, call, journal))

    return call_app


def answer_lambda_calls(app):
    """Answers 204 to a call to Lambda's API, which has been checked by now. The local host of functions then
    carries out the call."""

    async def call_app(scope, receive, send):
        call = scope.get("aws_call")
        if call is None or call.service != "lambda":
            return await app(scope, receive, send)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return call_app


async def read_body(receive):
    """Returns a request's body; None if the caller has closed the connection."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def replay_body(body, receive):
    """Wraps `receive` so that it first returns a body that has been read already."""
    is_read = False

    async def call():
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return call


def record_refusals(send, call, journal):
    """Wraps `send` so that a call that the stand-in itself rejects as invalid is also recorded as a break of
    the contract.

    The stand-in checks calls against its stored data, such as the existence of a table.
    """
    status = None

    async def respond(message):
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif status is not None and 400 <= status < 500 and message.get("body"):
            code, text = parse_error(call.service, message["body"])
            if code in REFUSALS:
                journal.add_break(call, "refused", f"{code}: {text}")
        await send(message)

    return respond


def parse_error(service, body):
    """Returns the code and message of a service's error."""
    text = body.decode("utf-8", "replace")
    if service in ("s3", "sns"):
        between = lambda tag: text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        return between("Code"), between("Message")
    try:
        output = json.loads(text)
        return str(output.get("__type", "")).rpartition("#")[2], output.get("message") or output.get("Message") or ""
    except ValueError:
        return "", ""


XML_CODES = {"ValidationException": "InvalidArgument", "AccessDeniedException": "AccessDenied"}


async def refuse(send, service, status, code, sentence):
    """Sends an error in the service's format."""
    if service in ("s3", "sns"):
        error = f"<Error><Code>{XML_CODES.get(code, code)}</Code><Message>{escape(sentence)}</Message></Error>"
        body = error if service == "s3" else f"<ErrorResponse>{error}</ErrorResponse>"
        kind = "application/xml"
    else:
        body = json.dumps({"__type": code, "message": sentence})
        kind = "application/x-amz-json-1.0"
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body.encode())).encode())]
    if service not in ("s3", "sns"):
        headers.append((b"x-amzn-errortype", code.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
