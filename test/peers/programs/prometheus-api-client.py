"""Reads with prometheus-api-client, which asks for the root first."""
import json
import os
from datetime import datetime, timezone

from prometheus_api_client import PrometheusConnect

now = int(os.environ["NOW"])
client = PrometheusConnect(
    url=os.environ["URL"] + "/prometheus", headers={"Authorization": "Bearer " + os.environ["KEY"]}
)
time = lambda seconds: datetime.fromtimestamp(seconds, timezone.utc)
ranged = client.get_metric_range_data("peer_up", {"instance": "a"}, start_time=time(now - 60), end_time=time(now))
print(json.dumps({
    "connected": client.check_prometheus_connection(),
    "metrics": "peer_up" in client.all_metrics(),
    "instances": client.get_label_values("instance", params={"match[]": "peer_up"}),
    "vector": [[each["metric"]["instance"], each["value"][1]] for each in
               client.custom_query("peer_up", params={"time": now})],
    "samples": len(ranged[0]["values"]),
}))
