/** The codec's public interface. FORMAT.md describes the bytes. */
export {
  blockFromFrames,
  cutBlock,
  joinBlocks,
  LEFT_OUT,
  mergeBlocks,
  type PlacedFrame,
  relayout,
  sampleCount,
  sliceBlock,
} from './block';
export { type ChunkReader, encodeChunk, openChunk } from './chunk';
export { eraseSamples } from './erase';
export {
  decodeFrame,
  decodeVersion,
  encodeFrame,
  encodeVersion,
  layoutOfFrame,
  packPartialFrame,
  packSampleFrame,
  sampleFrameBytes,
  writeSampleFrame,
} from './frame';
export {
  type Block,
  type Column,
  CorruptChunkError,
  compareVersions,
  type Erasure,
  type Frame,
  type Version,
} from './model';
export { blockFromPicked, markedWhole, type PickedColumns, pickedFrames, wholeFrames } from './picked-frames';
export { isPresenceOf, isPresent, presenceBytes, presenceOf, presentCount, presentSeries } from './presence';
