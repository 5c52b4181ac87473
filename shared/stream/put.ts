import { setTimeout as sleep } from 'node:timers/promises';
import { type KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';

/** A record to be put into the stream. */
export interface OutgoingRecord {
  readonly partitionKey: string;
  readonly data: Buffer;
}

/**
 * The stream did not accept all records of a request. The sender may retry the whole request: two copies of a sample
 * are merged into one.
 */
export class StreamUnavailableError extends Error {
  override readonly name = 'StreamUnavailableError';
}

/** Maximum number of records in a call of PutRecords, a limit of Kinesis. */
const MAX_CALL_RECORDS = 500;
/** Maximum size of the records in a call, in bytes. Kinesis accepts 10 MB; the margin is for partition keys. */
const MAX_CALL_BYTES = 9 * 1024 * 1024;
/** Maximum number of times that a record is sent. */
const MAX_TRIES = 6;
/** Minimum wait before the second try, in ms. The minimum doubles before each later try. */
const FIRST_DELAY_MS = 50;

/**
 * Puts every record into the stream. Sends refused records again, after random waits that become longer, for at most
 * about 3 s in total. (Senders time out after 30 s.)
 *
 * @param random returns a number in [0, 1)
 * @throws {StreamUnavailableError} when the stream still refuses some records (DESIGN.md, rule 1)
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

/** Makes one call of PutRecords. Returns the records that the stream has refused. */
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

/** Divides records, in order, into calls within Kinesis' limits. */
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
