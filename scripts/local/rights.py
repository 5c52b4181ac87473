"""Which rights a call needs in IAM, and whether its function's policies grant them.

See https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
"""

import fnmatch
import json
import os
import re
from urllib.parse import unquote

REGION_AND_ACCOUNT = "us-east-1:000000000000"

# IAM actions of S3's operations whose action has another name than the operation.
S3_ACTIONS = {
    "HeadObject": "GetObject",
    "HeadBucket": "ListBucket",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "CompleteMultipartUpload": "PutObject",
    "ListBuckets": "ListAllMyBuckets",
}


def needs_of(call):
    """Returns the rights that a call needs: (action, ARN, partition keys, ARN of the function that a mapping
    invokes) for each of its parts.

    A field is None if the call does not name it.
    """
    given = call.input
    if call.service == "dynamodb":
        return [
            (f"dynamodb:{action}", f"arn:aws:dynamodb:{REGION_AND_ACCOUNT}:table/{table}", keys, None)
            for action, table, keys in requested_items(call.operation, given)
        ]
    if call.service == "kinesis":
        name = given.get("StreamName")
        # A call with a shard iterator names no stream. Only Kinesis knows the stream of an iterator.
        stream = given.get("StreamARN") or name and f"arn:aws:kinesis:{REGION_AND_ACCOUNT}:stream/{name}"
        return [(f"kinesis:{call.operation}", stream, None, None)]
    if call.service == "s3":
        action = S3_ACTIONS.get(call.operation, call.operation)
        version = "Version" if action in ("GetObject", "DeleteObject") and "VersionId" in given else ""
        return [(f"s3:{action}{version}", f"arn:aws:s3:::{'/'.join(filter(None, (given.get('Bucket'), given.get('Key'))))}", None, None)]
    if call.service == "sns":
        return [(f"sns:{call.operation}", given.get("TopicArn", "*"), None, None)]
    if call.operation == "Invoke":
        return [("lambda:InvokeFunction", function_arn(given["FunctionName"]), None, None)]
    target = given.get("FunctionName")
    return [(f"lambda:{call.operation}", "*", None, target and function_arn(target))]


def function_arn(name_or_arn):
    """Returns the ARN of a function that is given by its name or its ARN."""
    name = unquote(name_or_arn).split(":")[-1]
    return f"arn:aws:lambda:{REGION_AND_ACCOUNT}:function:{name}"


def requested_items(action, data):
    """Returns (action, table, partition keys) for each part of a call to DynamoDB. The keys are None for
    operations that do not name whole keys, such as Query."""
    table = data.get("TableName")
    if action in ("GetItem", "UpdateItem", "DeleteItem"):
        return [(action, table, [data["Key"]["pk"]["S"]])]
    if action == "PutItem":
        return [(action, table, [data["Item"]["pk"]["S"]])]
    if action == "BatchGetItem":
        return [(action, name, [key["pk"]["S"] for key in asked["Keys"]]) for name, asked in data["RequestItems"].items()]
    if action == "BatchWriteItem":
        return [(action, name, [written_key(one) for one in asked]) for name, asked in data["RequestItems"].items()]
    if action == "TransactWriteItems":
        parts = [next(iter(each.items())) for each in data["TransactItems"]]
        return [part for kind, item in parts for part in requested_items(f"{kind}Item", item)]
    if action == "BatchExecuteStatement":
        return [parse_insert(each["Statement"], each["Parameters"]) for each in data["Statements"]]
    return [(action, table, None)]


def written_key(request):
    """Returns the partition key of a put or delete request."""
    part = next(iter(request.values()))
    return (part.get("Item") or part["Key"])["pk"]["S"]


INSERT = re.compile(r'INSERT INTO "([^"]+)" VALUE \{(.*)\}$')


def parse_insert(statement, parameters):
    """Returns the action, table and partition key of a PartiQL insertion."""
    table, values = INSERT.match(statement).groups()
    at = re.findall(r"'(\w+)': \?", values).index("pk")
    return ("PartiQLInsert", table, [parameters[at]["S"]])


class Rights:
    """Rights by function, from the file that rights.ts writes."""

    def __init__(self, file):
        self.file = file
        self.read_at = None
        self.by_function = {}

    def find_refused(self, function, needs):
        """Returns the first of the needed rights that the function's policies do not grant; None if they
        grant all."""
        changed = os.stat(self.file).st_mtime_ns
        if changed != self.read_at:
            with open(self.file) as file:
                self.by_function = json.load(file)
            self.read_at = changed
        own = self.by_function.get(function, [])
        return next((need for need in needs if not any(covers(right, need) for right in own)), None)


def covers(right, need):
    """Returns whether a right of a policy grants a needed right."""
    action, resource, keys, invoked = need
    if action not in right["actions"]:
        return False
    if resource is not None and not any(fnmatch.fnmatchcase(resource, pattern) for pattern in right["resources"]):
        return False
    if "function" in right and invoked is not None and invoked != right["function"]:
        return False
    patterns = right.get("keys")
    return patterns is None or (
        keys is not None and all(any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns) for key in keys)
    )
