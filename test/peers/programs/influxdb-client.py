"""Writes with InfluxDB 2's client, as its own documentation does."""
import json
import os

from influxdb_client import InfluxDBClient, Point, WritePrecision
from influxdb_client.client.write_api import SYNCHRONOUS

now = int(os.environ["NOW"])
with InfluxDBClient(url=os.environ["URL"], token=os.environ["KEY"], org="any", enable_gzip=True) as client:
    health = client.health()
    ready = client.ready()
    point = Point("influxdb_client").tag("host", "peer").field("value", 1.5).time(now, WritePrecision.S)
    client.write_api(write_options=SYNCHRONOUS).write(bucket="any", record=[point], write_precision=WritePrecision.S)
    print(json.dumps({"health": health.status, "name": health.name, "ready": ready.status, "ping": client.ping()}))
