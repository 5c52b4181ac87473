/**
 * The formats of which this release reads or writes several versions. Every other format has one.
 *
 * A release writes a version only if the release before could read it (DESIGN.md, rule 14): old and new code share the
 * stores during a deploy, and what was written stays after a rollback. So a new version first enters `reads`, and moves to
 * the front of `writes` one release later. A setting can choose any version of `writes`, so that a deploy and the change of
 * what is written are two steps.
 */
export const FORMATS = {
  /** Archive objects: cold/FORMAT.md. 1 is HTSDARC1, 2 is Apache Parquet. */
  archive: { reads: [1, 2], writes: [2, 1] },
  /** A day's entry in the manifest: cold/manifest.ts. 1 names one object, 2 as many parts as its size asks for. */
  manifest: { reads: [1, 2], writes: [2, 1] },
} as const satisfies Record<string, FormatVersions>;

export type ArchiveVersion = (typeof FORMATS.archive.writes)[number];

export interface FormatVersions {
  readonly reads: readonly number[];
  /** The first is the default. */
  readonly writes: readonly [number, ...number[]];
}
