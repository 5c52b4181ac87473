import type { ArchiveVersion } from '../model/formats';
import {
  type ArchiveFormat,
  type ArchiveReader,
  CorruptArchiveError,
  type ObjectBytes,
} from './archive-format';
import { HTSD_FORMAT, HTSD_MAGIC } from './htsd-format';
import { PARQUET_FORMAT, PARQUET_MAGIC } from './parquet-format';

/** Versions of archive objects: see {@link FORMATS}. */
export const ARCHIVE_FORMATS: Readonly<Record<ArchiveVersion, ArchiveFormat>> = {
  1: HTSD_FORMAT,
  2: PARQUET_FORMAT,
};

/** An open object, and its format's version. */
export interface OpenObject {
  readonly version: ArchiveVersion;
  readonly reader: ArchiveReader;
}

/**
 * Opens an object of any format that this release reads, which its last bytes tell.
 *
 * @throws {CorruptArchiveError}
 */
export async function openObject(object: ObjectBytes): Promise<OpenObject> {
  const { byteLength } = object;
  const length = Math.min(byteLength, HTSD_MAGIC.length);
  const end = await object.slice({ offset: byteLength - length, length });
  if (PARQUET_MAGIC.equals(end.subarray(-PARQUET_MAGIC.length)))
    return { version: 2, reader: await PARQUET_FORMAT.open(object) };
  if (HTSD_MAGIC.equals(end)) return { version: 1, reader: await HTSD_FORMAT.open(object) };
  throw new CorruptArchiveError(`${object.key}: its last ${length} bytes are no archive format's`);
}
