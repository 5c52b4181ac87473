/** The codec's public interface. FORMAT.md describes the bytes. */
export {
  blockFromFrames,
  cutBlock,
  joinBlocks,
  LEFT_OUT,
  mergeBlocks,
  type PositionedFrame,
  relayout,
  sampleCount,
  sliceBlock,
} from './block';
export { type ChunkReader, encodeChunk, openChunk } from './chunk';
export {
  decodeFrame,
  decodeVersion,
  encodeFrame,
  encodeVersion,
  layoutOfFrame,
  packPartialFrame,
  packSampleFrame,
} from './frame';
export {
  type Block,
  type Column,
  CorruptChunkError,
  compareVersions,
  type Frame,
  type Tombstone,
  type Version,
} from './model';
export {
  blockFromPicked,
  encodeWholeFrames,
  type PickedColumns,
  pickedFrames,
  takeWholeFrames,
} from './picked-frames';
export { isPresenceOf, isPresent, presenceBytes, presenceOf, presentCount, presentSeries } from './presence';
export { applyTombstones } from './tombstones';
