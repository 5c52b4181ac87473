"""Parses requests to AWS by the services' own models, which botocore contains, and lists where a request
differs from its model."""

import base64
import re
from functools import lru_cache
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree

import json

from botocore.loaders import Loader
from botocore.model import ServiceModel

# Lambda's API is implemented by the local host of functions. With this header, the host asks the stand-in
# whether AWS would allow a call. The response is 204, or the error with which AWS would refuse the call.
ONLY_CHECK = "x-contract-only"

SERVICES = ("dynamodb", "kinesis", "s3", "sns", "lambda")
loader = Loader()


@lru_cache(maxsize=None)
def model_of(service):
    """Returns the model of a service."""
    return ServiceModel(loader.load_service_model(service, "service-2"), service)


class Call:
    """One request. `input` has the members of the operation's input in their JSON form, in which binary
    values are base64."""

    def __init__(self, service, operation, given, function=None, body=b""):
        self.service = service
        self.operation = operation
        self.input = given
        # The function whose role made the call; None for an operator or a test.
        self.function = function
        self.body = body

    @property
    def name(self):
        """Returns the service and operation, such as `s3:GetObject`."""
        return f"{self.service}:{self.operation}"


def parse_call(method, path, query_string, headers, body):
    """Parses an HTTP request as a call; None if the request is not to one of SERVICES."""
    function = headers.get("x-amz-security-token")
    target = headers.get("x-amz-target", "")
    if target:
        prefix, _, operation = target.partition(".")
        for service in ("dynamodb", "kinesis"):
            if model_of(service).metadata["targetPrefix"] == prefix:
                return Call(service, operation, json.loads(body or b"{}"), function, body)
        return None
    signed = re.search(r"Credential=[^/]*/[^/]*/[^/]*/([^/]+)/", headers.get("authorization", ""))
    service = "lambda" if ONLY_CHECK in headers else signed and signed.group(1)
    if service == "sns":
        return parse_sns_call(body, function)
    if service in ("s3", "lambda"):
        return parse_rest_call(service, method, path, query_string, headers, body, function)
    return None


def parse_sns_call(body, function):
    """Parses a request to SNS, which is a form."""
    fields = dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True))
    operation = fields.pop("Action", "")
    fields.pop("Version", None)
    # Lists are not parsed, since no call of this project has one. Their keys would be such as
    # `Tags.member.1.Key`.
    return Call("sns", operation, parse_form(fields), function, body)


def parse_form(fields):
    """Parses a form's fields, joining the fields of a map: `Attributes.entry.1.key`,
    `MessageAttributes.entry.1.Value.DataType`."""
    given, entries = {}, {}
    for key, text in fields.items():
        name, _, rest = key.partition(".entry.")
        number, _, path = rest.partition(".")
        if path == "":
            given[key] = text
        else:
            entries.setdefault(name, {}).setdefault(number, {})[path.lower()[:1] + path[1:]] = text
    for name, of_map in entries.items():
        given[name] = {}
        for entry in of_map.values():
            members = {path.partition(".")[2]: text for path, text in entry.items() if path.startswith("value.")}
            key = entry.get("key", entry.get("name"))
            given[name][key] = members if members else entry.get("value")
    return given


@lru_cache(maxsize=None)
def routes_of(service):
    """Returns (method, pattern of the path, fixed query, required query members, operation) for each
    operation, the most specific first."""
    found = []
    model = model_of(service)
    for name in model.operation_names:
        operation = model.operation_model(name)
        path, _, static = operation.http["requestUri"].partition("?")
        parts = re.split(r"(\{[^}]+\})", path.rstrip("/") if len(path) > 1 else path)
        pattern = "".join(
            f"(?P<{part[1:-1].rstrip('+')}>{'.+' if '+' in part else '[^/]+'})" if part.startswith("{") else re.escape(part)
            for part in parts
        )
        shape = operation.input_shape
        asked = [
            member.serialization.get("name", key)
            for key, member in (shape.members if shape else {}).items()
            if key in shape.required_members and member.serialization.get("location") == "querystring"
        ]
        query = dict(parse_qsl(static, keep_blank_values=True))
        found.append((operation.http["method"], re.compile(pattern + "/?$"), query, asked, name))
    found.sort(key=lambda route: -(len(route[2]) + len(route[3])))
    return found


def parse_rest_call(service, method, path, query_string, headers, body, function):
    """Parses a request to S3 or Lambda, whose method, path and query tell the operation."""
    query = dict(parse_qsl(query_string, keep_blank_values=True))
    told = query.pop("x-id", None)
    for verb, pattern, static, asked, name in routes_of(service):
        match = pattern.match(path)
        if verb != method or match is None or (told is not None and told != name):
            continue
        if any(query.get(key) != value for key, value in static.items()) or any(key not in query for key in asked):
            continue
        # Without the header that names its source, the request is not a copy.
        if told is None and "Copy" in name and "x-amz-copy-source" not in headers:
            continue
        given = {key: unquote(value) for key, value in match.groupdict().items()}
        given.update(parse_members(model_of(service).operation_model(name).input_shape, query, headers, body))
        return Call(service, name, given, function, body)
    return Call(service, f"{method} {path}?{query_string}", {}, function, body)


def parse_members(shape, query, headers, body):
    """Returns the members of an operation's input from a request's query, headers and body."""
    given = {}
    payload = shape.serialization.get("payload") if shape else None
    for key, member in (shape.members if shape else {}).items():
        place = member.serialization.get("location")
        name = member.serialization.get("name", key)
        if place == "querystring" and name in query:
            given[key] = parse_text(member, query[name])
        elif place == "header" and name.lower() in headers:
            given[key] = parse_text(member, headers[name.lower()])
        elif place == "headers":
            found = {k[len(name):]: v for k, v in headers.items() if k.startswith(name.lower())}
            if found:
                given[key] = found
        elif key == payload and body:
            given[key] = read_payload(member, body)
    if payload is None and body and shape is not None:
        given.update(json.loads(body))
    return given


def read_payload(shape, body):
    """Parses a body that is one member of the input."""
    if shape.type_name == "blob":
        return base64.b64encode(body).decode() if len(body) < 1024 else OPAQUE
    if shape.type_name == "structure":
        return parse_xml(shape, ElementTree.fromstring(body))
    return body.decode("utf-8")


# Placeholder for a payload of a kilobyte or more. The model does not limit payloads, so nothing checks its
# content.
OPAQUE = ""


def parse_xml(shape, element):
    """Parses an XML element that has the given shape."""
    def own(tag):
        return [child for child in element if child.tag.rpartition("}")[2] == tag]

    if shape.type_name == "structure":
        given = {}
        for key, member in shape.members.items():
            children = own(member.serialization.get("name", key))
            if not children:
                continue
            if member.type_name == "list" and member.serialization.get("flattened"):
                given[key] = [parse_xml(member.member, child) for child in children]
            else:
                given[key] = parse_xml(member, children[0])
        return given
    if shape.type_name == "list":
        return [parse_xml(shape.member, child) for child in element]
    return parse_text(shape, element.text or "")


def parse_text(shape, text):
    """Converts a text to the shape's type; leaves it if that fails."""
    try:
        if shape.type_name in ("integer", "long"):
            return int(text)
        if shape.type_name == "boolean":
            return {"true": True, "false": False}.get(text, text)
    except ValueError:
        pass
    return text


def find_differences(call):
    """Describes each difference of a call's input from its operation's model; an empty list if there is
    none."""
    model = model_of(call.service)
    if call.operation not in model.operation_names:
        return [f"{call.service} has no operation {call.operation}"]
    shape = model.operation_model(call.operation).input_shape
    found = []
    if shape is not None:
        compare(shape, call.input, "", found)
    return found


TYPES = {
    "string": str,
    "character": str,
    "integer": int,
    "long": int,
    "boolean": bool,
    "float": (int, float),
    "double": (int, float),
    "timestamp": (int, float, str),
    "blob": str,
    "list": list,
    "map": dict,
    "structure": dict,
}


def compare(shape, value, at, found):
    """Adds to `found` each difference of a value from its shape."""
    kind = shape.type_name
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        found.append(f"{at or 'input'} is no {kind}")
        return
    bounds = shape.metadata
    size = size_of(kind, value)
    if size is not None and not bounds.get("min", size) <= size <= bounds.get("max", size):
        found.append(f"{at} has {size}, and the model allows {bounds.get('min', 0)} to {bounds.get('max', 'any')}")
    if kind == "string":
        if shape.enum and value not in shape.enum:
            found.append(f"{at} is {value[:80]!r}, which is none of {', '.join(shape.enum)}")
        if "pattern" in bounds and not matches(bounds["pattern"], value):
            found.append(f"{at} is {value[:80]!r}, which does not match {bounds['pattern']}")
    elif kind == "list":
        for i, item in enumerate(value):
            compare(shape.member, item, f"{at}[{i}]", found)
    elif kind == "map":
        for key, item in value.items():
            compare(shape.key, key, f"{at} key", found)
            compare(shape.value, item, f"{at}.{key}", found)
    elif kind == "structure":
        members = shape.members
        for key in shape.required_members:
            if key not in value:
                found.append(f"{at}.{key}".lstrip(".") + " is required")
        for key, item in value.items():
            if key in members:
                compare(members[key], item, f"{at}.{key}".lstrip("."), found)
            else:
                found.append(f"{at}.{key}".lstrip(".") + " is no member of the model")
        if shape.is_tagged_union and len(value) != 1:
            found.append(f"{at} has {len(value)} members of a union")


def size_of(kind, value):
    """Returns the number that the model's bounds apply to: a length, or the value of a number; None if there is none."""
    if kind in ("string", "list", "map"):
        return len(value)
    if kind == "blob":
        return blob_bytes(value)
    if kind in ("integer", "long", "float", "double"):
        return value
    return None


def blob_bytes(text):
    """Returns the number of bytes that a base64 text encodes."""
    return len(text) * 3 // 4 - text[-2:].count("=")


@lru_cache(maxsize=1024)
def matches(pattern, value):
    """Returns whether a value matches a pattern of a model."""
    try:
        return re.fullmatch(pattern, value, re.DOTALL) is not None
    except re.error:
        # Java's patterns have classes such as \p{L}, which Python's patterns lack.
        return True
