import { MAX_PARTITIONS } from '../model/placement';
import { big } from './cost-line';

/** What a tenant's meters said of its busiest day, of those looked at. */
export interface BusiestDay {
  /** Bytes put into the stream. */
  readonly streamBytes: number;
  /** Chunk bytes written to the warm tier, rewrites included: about what the archive's objects of the day have, or more. */
  readonly warmBytesWritten: number;
}

/** How many partitions a tenant should have, and why. */
export interface PartitionAdvice {
  readonly advised: number;
  readonly because: string;
}

const SECONDS_OF_DAY = 86_400;
/** The busiest second of a day has so many times the mean. */
const PEAK = 4;
/** A partition's records go to one shard of 1 MB/s. At an eighth of it, shards that hold several are evenly loaded. */
const STREAM_BYTES_PER_SECOND = 1_000_000 / 8;
/** An object of a partition and day that shares the archiver's memory with others. */
const OBJECT_BYTES = 64 * 1024 * 1024;
/** A tenant shrinks only when it has so many times the partitions it needs: each request puts a record in each. */
const TOO_MANY = 8;

/**
 * Advises on a tenant's number of partitions.
 *
 * @param partitions the number that holds, or that is to come
 * @param busiest undefined without usage
 * @returns powers of two where a change is advised; else the same number
 */
export function advisePartitions(partitions: number, busiest: BusiestDay | undefined): PartitionAdvice {
  if (busiest === undefined) return { advised: partitions, because: 'nothing was posted' };
  const { streamBytes, warmBytesWritten } = busiest;
  const peak = (PEAK * streamBytes) / SECONDS_OF_DAY;
  const stream = {
    needs: peak / STREAM_BYTES_PER_SECOND,
    because: `${big(peak)} bytes a second at the peak`,
  };
  const archive = {
    needs: warmBytesWritten / OBJECT_BYTES,
    because: `${big(warmBytesWritten)} bytes to archive a day`,
  };
  const { needs, because } = stream.needs >= archive.needs ? stream : archive;
  const enough = Math.min(MAX_PARTITIONS, 2 ** Math.ceil(Math.log2(Math.max(1, needs))));
  if (enough > partitions) return { advised: enough, because };
  // Twice what is enough, for growth takes two days or three.
  const fewer = Math.min(MAX_PARTITIONS, 2 * enough);
  return { advised: partitions >= TOO_MANY * enough && fewer < partitions ? fewer : partitions, because };
}
