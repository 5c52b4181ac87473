import { setTimeout as sleep } from 'node:timers/promises';
import { type KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import type { OutgoingRecord } from './outgoing';

/**
 * The stream took only some of a request's records. Repeating the request is safe: records that were taken
 * merge with their repetition.
 */
export class StreamUnavailableError extends Error {
  override readonly name = 'StreamUnavailableError';
}

/** PutRecords takes 500 records and 10 MB; the margin is for partition keys. */
const MAX_CALL_RECORDS = 500;
const MAX_CALL_BYTES = 9 * 1024 * 1024;
const MAX_TRIES = 6;
const FIRST_DELAY_MS = 50;

/**
 * Puts every record into the stream. Sends refused records again, with jittered backoff, for about 3 s at
 * most: senders give up after 30 s.
 *
 * @throws {StreamUnavailableError} when the stream still refuses any (DESIGN.md, rule 1)
 */
export async function putRecords(
  client: KinesisClient,
  stream: string,
  records: readonly OutgoingRecord[],
  random: () => number = Math.random,
): Promise<void> {
  let left = records;
  for (let tries = 0; left.length > 0; tries++) {
    if (tries === MAX_TRIES)
      throw new StreamUnavailableError(`the stream refused ${left.length} of ${records.length} records`);
    if (tries > 0) await sleep(FIRST_DELAY_MS * 2 ** tries * (0.5 + random() / 2));
    const refused: OutgoingRecord[] = [];
    for (const call of cutCalls(left)) refused.push(...(await putCall(client, stream, call)));
    left = refused;
  }
}

/** Makes one call. @returns the records that the stream refused */
async function putCall(client: KinesisClient, stream: string, records: readonly OutgoingRecord[]) {
  const { FailedRecordCount, Records } = await client.send(
    new PutRecordsCommand({
      StreamName: stream,
      Records: records.map(({ partitionKey, data }) => ({ PartitionKey: partitionKey, Data: data })),
    }),
  );
  if (FailedRecordCount === 0) return [];
  return records.filter((_, i) => Records?.[i]?.SequenceNumber === undefined);
}

/** Cuts records into calls within Kinesis' limits, in their order. */
export function cutCalls(records: readonly OutgoingRecord[]): OutgoingRecord[][] {
  const calls: OutgoingRecord[][] = [];
  let bytes = 0;
  for (const record of records) {
    const current = calls.at(-1);
    if (
      current === undefined ||
      current.length === MAX_CALL_RECORDS ||
      bytes + record.data.length > MAX_CALL_BYTES
    ) {
      calls.push([record]);
      bytes = record.data.length;
    } else {
      current.push(record);
      bytes += record.data.length;
    }
  }
  return calls;
}
