import protobuf from 'protobufjs';

/**
 * The messages of both versions, as their specifications define them. A library's decoder checks ours. The
 * syntax is proto2, which leaves the validity of UTF-8 to the caller.
 */
const root = protobuf.parse(`
syntax = "proto2";
package v1;
message WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3; }
message TimeSeries {
  repeated Label labels = 1; repeated Sample samples = 2; repeated Any exemplars = 3; repeated Any histograms = 4;
}
message Label { optional string name = 1; optional string value = 2; }
message Sample { optional double value = 1; optional int64 timestamp = 2; }
message MetricMetadata { optional uint32 type = 1; optional string metric_family_name = 2; optional string help = 4; optional string unit = 5; }
message Any { optional bytes any = 1; }
`).root;
const root2 = protobuf.parse(`
syntax = "proto2";
package v2;
message Request { repeated string symbols = 4; repeated TimeSeries timeseries = 5; }
message TimeSeries {
  repeated uint32 labels_refs = 1 [packed = true]; repeated Sample samples = 2; repeated Any histograms = 3; repeated Any exemplars = 4;
  optional Metadata metadata = 5;
}
message Sample { optional double value = 1; optional int64 timestamp = 2; optional int64 start_timestamp = 3; }
message Metadata { optional uint32 type = 1; optional uint32 help_ref = 3; optional uint32 unit_ref = 4; }
message Any { optional bytes any = 1; }
`).root;

export const WriteRequestV1 = root.lookupType('v1.WriteRequest');
export const WriteRequestV2 = root2.lookupType('v2.Request');

export type PlainLabels = readonly (readonly [string, string])[];

export interface PlainSeries {
  readonly labels: PlainLabels;
  readonly samples: readonly { readonly timestamp: number; readonly value: number }[];
}

export function encodeV1(series: readonly PlainSeries[], metadata: readonly object[] = []): Uint8Array {
  const timeseries = series.map(({ labels, samples }) => ({
    labels: labels.map(([name, value]) => ({ name, value })),
    samples,
  }));
  return WriteRequestV1.encode(WriteRequestV1.fromObject({ timeseries, metadata })).finish();
}

/** Parts that a series of version 2 may have in addition to its samples. */
export interface SeriesExtras {
  readonly startTimestamp?: number;
  readonly histograms?: number;
  readonly exemplars?: number;
  readonly metadata?: { readonly type: number; readonly help: string; readonly unit: string };
}

export function encodeV2(series: readonly (PlainSeries & SeriesExtras)[]): Uint8Array {
  const symbols = new Map([['', 0]]);
  const refOf = (text: string) => {
    if (!symbols.has(text)) symbols.set(text, symbols.size);
    return symbols.get(text)!;
  };
  const any = (count = 0) =>
    Array.from({ length: count }, () => ({ any: Buffer.from('x').toString('base64') }));
  const timeseries = series.map(({ labels, samples, startTimestamp, histograms, exemplars, metadata }) => ({
    labelsRefs: labels.flatMap(([name, value]) => [refOf(name), refOf(value)]),
    samples: samples.map((sample) => ({ ...sample, startTimestamp })),
    histograms: any(histograms),
    exemplars: any(exemplars),
    ...(metadata && {
      metadata: { type: metadata.type, helpRef: refOf(metadata.help), unitRef: refOf(metadata.unit) },
    }),
  }));
  const message = WriteRequestV2.fromObject({ symbols: [...symbols.keys()], timeseries });
  return WriteRequestV2.encode(message).finish();
}
