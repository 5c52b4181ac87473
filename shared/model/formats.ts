/**
 * The versions of the formats of which this release reads or writes several. Those that are not here have one.
 *
 * A version is written no sooner than the release before could read it (design.md, rule 14): old and new code share the
 * stores during a deploy, and what was written stays behind when one rolls back. So a new version first comes into `reads`,
 * and in the release after it to the front of `writes`. One that this release still writes can be chosen by a setting, so
 * that a deploy and the change of what is written are two steps.
 */
export const FORMATS = {
  /** Records of the stream: record.ts. */
  record: { reads: [1, 2, 3], writes: [3, 2] },
  /** Frames of the hot tier: codec/FORMAT.md, 1. Of 2, which is new, this release is the reader. */
  frame: { reads: [1, 2], writes: [1, 2] },
} as const satisfies Record<string, FormatVersions>;

export type RecordFormat = (typeof FORMATS.record.writes)[number];
export type FrameFormat = (typeof FORMATS.frame.writes)[number];

export interface FormatVersions {
  readonly reads: readonly number[];
  /** The first is what is written unless a setting says otherwise. */
  readonly writes: readonly [number, ...number[]];
}
