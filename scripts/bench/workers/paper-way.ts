import type { KinesisStreamEvent } from 'aws-lambda';
import type { Cluster, Redis } from 'ioredis';
import { labelValue, METRIC_NAME } from '../../../shared/model/labels';
import { decodeLayout } from '../../../shared/model/layout';
import { type PackedLayout, unpackLayout } from '../../../shared/model/packed-layout';
import { decodeRecord } from '../../../shared/stream/record-decoder';

/**
 * Insertion into Redis as in the reference implementation of the HeteroTSDB paper. Each series is a string. For each
 * sample, the script appends 16 bytes to the string, and checks the string's time to live. If the string is new, the
 * script sets its time to live. If the string is about to expire, the script adds its key to the flusher's stream.
 *
 * - KEYS: the stream of series to flush; then the key of each sample's series
 * - ARGV: time to live in seconds; time to live below which a series is flushed, in seconds; then 16 bytes per sample
 *
 * @see Tsubouchi et al., "HeteroTSDB", 2020, section 4
 */
const PAPER_SCRIPT = `
local ttl, flush = tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 2, #KEYS do
  redis.call('APPEND', KEYS[i], ARGV[i + 1])
  local left = redis.call('TTL', KEYS[i])
  if left == -1 then
    redis.call('EXPIRE', KEYS[i], ttl)
  elseif left < flush then
    redis.call('XADD', KEYS[1], '*', 'series', KEYS[i])
  end
end
return #KEYS - 1
`;
const TTL_S = 3_600 * 2;
const FLUSH_BELOW_S = 3_600;

/** Appends a batch with the paper's method, one script call per host. */
export class PaperWay {
  private readonly names = new Map<string, readonly string[]>();

  constructor(private readonly redis: Redis | Cluster) {}

  /**
   * Appends the samples of an event to their series in Redis.
   *
   * @param isExpiring adds each series to the flusher's stream, as if it were about to expire
   */
  async ingest(event: KinesisStreamEvent, isExpiring = false): Promise<void> {
    const calls: Promise<number>[] = [];
    for (const { kinesis } of event.Records)
      for (const { layout, frames } of decodeRecord(Buffer.from(kinesis.data, 'base64')).groups) {
        const keys = this.keysOf(layout);
        for (const { timestamp, values } of frames) {
          const points = keys.map((_, i) => {
            const point = Buffer.allocUnsafe(16);
            point.writeDoubleLE(timestamp, 0);
            point.set(values.subarray(i * 8, i * 8 + 8), 8);
            return point;
          });
          calls.push(
            this.append(
              [flushStreamOf(keys[0]!), ...keys],
              [TTL_S, isExpiring ? 2 * TTL_S : FLUSH_BELOW_S, ...points],
            ),
          );
        }
      }
    await Promise.all(calls);
  }

  /**
   * Defines a command for each number of keys, because automatic pipelining takes the first argument of a command for
   * its key.
   */
  private append(keys: readonly string[], args: readonly (number | Buffer)[]): Promise<number> {
    const name = `paperAppend${keys.length}`;
    const commands = this.redis as unknown as Record<string, (...args: unknown[]) => Promise<number>>;
    if (commands[name] === undefined)
      this.redis.defineCommand(name, { lua: PAPER_SCRIPT, numberOfKeys: keys.length });
    return commands[name]!(...keys, ...args);
  }

  private keysOf({ id, packed }: PackedLayout): readonly string[] {
    const known = this.names.get(id);
    if (known !== undefined) return known;
    const names = decodeLayout(unpackLayout(packed)).series.map(
      (labels) => `${labelValue(labels, METRIC_NAME)};host={${labelValue(labels, 'host')}}`,
    );
    this.names.set(id, names);
    return names;
  }
}

/** Returns the flusher's stream for a series. The stream is in the same hash slot as the host's series. */
function flushStreamOf(key: string): string {
  return `flush${key.slice(key.indexOf('{'))}`;
}
