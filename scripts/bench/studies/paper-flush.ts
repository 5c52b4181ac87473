import { BatchWriteItemCommand, type DynamoDBClient, type WriteRequest } from '@aws-sdk/client-dynamodb';
import type { Redis } from 'ioredis';
import { mapLimited } from '../../../shared/platform/concurrency';
import { TABLE_KEYS } from '../../../shared/platform/names';

/** Bytes of a sample: time and value. */
const SAMPLE_BYTES = 16;
const BATCH_ITEMS = 25;
const HOSTS_AT_ONCE = 16;
const UNIT_BYTES = 1024;

/**
 * The flusher of the HeteroTSDB paper. From streams in Redis, it reads which series are about to expire. It reads each
 * of these series, sorts its samples, writes them to the lower store as one item, and deletes the series from Redis.
 *
 * @param redis client with automatic pipelining
 * @returns number of samples that left memory, and write units: one per KB of an item, rounded up
 * @see Tsubouchi et al., "HeteroTSDB", 2020, section 4
 */
export async function flushPaperWay(
  redis: Redis,
  dynamodb: DynamoDBClient,
  table: string,
): Promise<{ readonly samples: number; readonly writeUnits: number }> {
  const sum = { samples: 0, writeUnits: 0 };
  const streams: string[] = [];
  for await (const found of redis.scanStream({ match: 'flush{*', count: 1_000 }))
    streams.push(...(found as string[]));
  await mapLimited(streams, HOSTS_AT_ONCE, async (stream) => {
    const entries = await redis.xrange(stream, '-', '+');
    const series = [...new Set(entries.map(([, [, name]]) => name!))];
    const stored = await Promise.all(series.map((name) => redis.getBuffer(name)));
    const items = series.map((name, i) => {
      const bytes = sorted(stored[i]!);
      sum.samples += bytes.length / SAMPLE_BYTES;
      const item = {
        [TABLE_KEYS.partition]: { S: name },
        [TABLE_KEYS.sort]: { S: String(bytes.readDoubleLE(0)) },
        v: { B: bytes },
      };
      sum.writeUnits += Math.ceil((name.length + bytes.length + 20) / UNIT_BYTES);
      return { PutRequest: { Item: item } };
    });
    for (let i = 0; i < items.length; i += BATCH_ITEMS)
      await putAll(dynamodb, table, items.slice(i, i + BATCH_ITEMS));
    await Promise.all(series.map((name) => redis.del(name)));
    await redis.del(stream);
  });
  return sum;
}

async function putAll(dynamodb: DynamoDBClient, table: string, items: WriteRequest[]): Promise<void> {
  let left = items;
  while (left.length > 0) {
    const output = await dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [table]: left } }));
    left = output.UnprocessedItems?.[table] ?? [];
  }
}

/** Sorts pairs by time, in place. They are nearly sorted already. */
function sorted(pairs: Buffer): Buffer {
  const pair = Buffer.alloc(SAMPLE_BYTES);
  for (let at = SAMPLE_BYTES; at < pairs.length; at += SAMPLE_BYTES) {
    const time = pairs.readDoubleLE(at);
    let to = at;
    while (to > 0 && pairs.readDoubleLE(to - SAMPLE_BYTES) > time) to -= SAMPLE_BYTES;
    if (to === at) continue;
    pairs.copy(pair, 0, at, at + SAMPLE_BYTES);
    pairs.copyWithin(to + SAMPLE_BYTES, to, at);
    pair.copy(pairs, to);
  }
  return pairs;
}
