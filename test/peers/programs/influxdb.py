"""Writes with InfluxDB 1's client, which creates its database first."""
import json
import os
from urllib.parse import urlparse

from influxdb import InfluxDBClient

now = int(os.environ["NOW"])
url = urlparse(os.environ["URL"])
client = InfluxDBClient(host=url.hostname, port=url.port, username="any", password=os.environ["KEY"], database="any")
version = client.ping()
client.create_database("any")
point = {"measurement": "influxdb_1", "tags": {"host": "peer"}, "time": now, "fields": {"value": 3.5}}
written = client.write_points([point], time_precision="s")
print(json.dumps({"version": version, "written": written}))
