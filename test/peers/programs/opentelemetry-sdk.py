"""Exports with OpenTelemetry's SDK by OTLP over HTTP, once with each compression."""
import json
import os

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

flushed = []
for compression in (Compression.NoCompression, Compression.Gzip, Compression.Deflate):
    exporter = OTLPMetricExporter(
        endpoint=os.environ["URL"] + "/v1/metrics",
        headers={"x-api-key": os.environ["KEY"]},
        compression=compression,
    )
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider(
        metric_readers=[reader],
        resource=Resource({"service.name": "peer", "service.instance.id": "otel-" + compression.value}),
    )
    provider.get_meter("peer").create_counter("opentelemetry.sdk", unit="1").add(4)
    flushed.append(provider.force_flush())
    provider.shutdown()
print(json.dumps({"flushed": flushed}))
