import protobuf from 'protobufjs';

/** The messages, as the protocol defines them. A library encodes them as input for our decoder. */
const { root } = protobuf.parse(`
syntax = "proto3";
package otlp;
message Request { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeMetrics { repeated Metric metrics = 2; }
message Metric {
  string name = 1; string description = 2; string unit = 3;
  oneof data { Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; Exp exponential_histogram = 10; Summary summary = 11; }
}
message Gauge { repeated NumberDataPoint data_points = 1; }
message Sum { repeated NumberDataPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramDataPoint data_points = 1; int32 aggregation_temporality = 2; }
message Exp { repeated Empty data_points = 1; int32 aggregation_temporality = 2; }
message Empty {}
message Summary { repeated SummaryDataPoint data_points = 1; }
message NumberDataPoint {
  repeated KeyValue attributes = 7; fixed64 time_unix_nano = 3; optional double as_double = 4; optional sfixed64 as_int = 6;
  repeated Exemplar exemplars = 5; uint32 flags = 8;
}
message HistogramDataPoint {
  repeated KeyValue attributes = 9; fixed64 time_unix_nano = 3; fixed64 count = 4; optional double sum = 5;
  repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7; repeated Exemplar exemplars = 8; uint32 flags = 10;
}
message Exemplar { optional double as_double = 3; }
message SummaryDataPoint {
  repeated KeyValue attributes = 7; fixed64 time_unix_nano = 3; fixed64 count = 4; double sum = 5;
  repeated Quantile quantile_values = 6; uint32 flags = 8;
}
message Quantile { double quantile = 1; double value = 2; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
`);
export const MetricsRequest = root.lookupType('otlp.Request');
