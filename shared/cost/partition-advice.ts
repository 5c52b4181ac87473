import { MAX_PARTITIONS } from '../model/placement';
import { big } from './cost-line';

/** A tenant's usage on the busiest day of the last week. */
export interface BusiestDay {
  /** Number of bytes put into the stream. */
  readonly streamBytes: number;
  /**
   * Chunk bytes written to the warm tier, including rewrites. The day's archive objects have about as many
   * bytes, or fewer.
   */
  readonly warmBytesWritten: number;
}

/** The advised number of partitions, and the reason. */
export interface PartitionAdvice {
  readonly advised: number;
  readonly because: string;
}

const SECONDS_OF_DAY = 86_400;
/** Ratio of the busiest second of a day to the average second. */
const PEAK = 4;
/**
 * Maximum planned rate of a partition, in bytes per second. All records of a partition go to one shard, which
 * accepts 1 MB/s. If partitions have at most an eighth of that rate, shards are loaded evenly.
 */
const STREAM_BYTES_PER_SECOND = 1_000_000 / 8;
/** Planned size of an archive object, in bytes. It is limited because the archiver holds several objects at a time. */
const OBJECT_BYTES = 64 * 1024 * 1024;
/**
 * Fewer partitions are advised if a tenant has at least this many times the number that it needs. With fewer
 * partitions, requests cause fewer records: a request puts one record into each partition that holds any of
 * its sources.
 */
const TOO_MANY = 8;

/**
 * Advises on a tenant's number of partitions.
 *
 * @param partitions the current number, or the one already published for a later day
 * @param busiest usage of the busiest day; undefined without usage
 * @returns a power of two if a change is advised, otherwise `partitions`
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
  // When reducing, advise twice the needed number, because a later increase takes two or three days.
  const fewer = Math.min(MAX_PARTITIONS, 2 * enough);
  return { advised: partitions >= TOO_MANY * enough && fewer < partitions ? fewer : partitions, because };
}
