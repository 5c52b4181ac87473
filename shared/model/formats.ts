/**
 * The formats of which this release reads or writes several versions. Every other format has one.
 *
 * A release writes a version only if the release before could read it (DESIGN.md, rule 14): old and new code share the
 * stores during a deploy, and what was written stays after a rollback. So a new version first enters `reads`, and moves to
 * the front of `writes` one release later. A setting can choose any version of `writes`, so that a deploy and the change of
 * what is written are two steps.
 */
export const FORMATS = {
  /** Records of the stream: stream/record.ts. Version 4 is new: this release is the first to read it. */
  record: { reads: [1, 2, 3, 4], writes: [3, 2, 4] },
  /** Frames of the hot tier: codec/FORMAT.md, 1. Versions 2 and 3 are new: this release is the first to read them. */
  frame: { reads: [1, 2, 3], writes: [1, 2, 3] },
  /** Archive objects: cold/FORMAT.md. 1 is HTSDARC1, 2 is Apache Parquet. */
  archive: { reads: [1, 2], writes: [2, 1] },
} as const satisfies Record<string, FormatVersions>;

export type RecordFormat = (typeof FORMATS.record.writes)[number];
export type FrameFormat = (typeof FORMATS.frame.writes)[number];
export type ArchiveVersion = (typeof FORMATS.archive.writes)[number];

export interface FormatVersions {
  readonly reads: readonly number[];
  /** The first is the default. */
  readonly writes: readonly [number, ...number[]];
}
