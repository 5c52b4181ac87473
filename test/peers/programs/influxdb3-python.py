"""Writes with InfluxDB 3's client, in its default mode."""
import json
import os

from influxdb_client_3 import InfluxDBClient3, Point, SYNCHRONOUS, WriteOptions, write_client_options

now = int(os.environ["NOW"])
options = write_client_options(write_options=SYNCHRONOUS)
with InfluxDBClient3(
    host=os.environ["URL"], token=os.environ["KEY"], database="any", write_client_options=options
) as client:
    client.write(Point("influxdb3").tag("host", "peer").field("value", 2.5).time(now * 1_000_000_000))
    print(json.dumps({}))
