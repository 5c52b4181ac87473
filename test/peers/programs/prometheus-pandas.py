"""Reads with prometheus-pandas."""
import json
import os

import requests
from prometheus_pandas import query

now = int(os.environ["NOW"])
session = requests.Session()
session.auth = ("any", os.environ["KEY"])
client = query.Prometheus(os.environ["URL"] + "/prometheus", http=session)
instant = client.query("sum by (instance) (peer_up)", now)
ranged = client.query_range("peer_up", now - 60, now, "15s")
print(json.dumps({"vector": sorted(instant.tolist()), "shape": list(ranged.shape)}))
