import {
  CreateEventSourceMappingCommand,
  DeleteEventSourceMappingCommand,
  type LambdaClient,
  paginateListEventSourceMappings,
  ResourceInUseException,
  ResourceNotFoundException,
} from '@aws-sdk/client-lambda';

export interface ReplayMappingOptions {
  readonly functionName: string;
  readonly streamArn: string;
  readonly batchSize: number;
  readonly batchWindowMs: number;
}

/**
 * Creates and deletes the event source mapping that feeds the replayer function from the stream. The mapping
 * exists only while a replay runs. There is never more than one.
 */
export class LambdaReplayMappings {
  constructor(
    private readonly client: LambdaClient,
    private readonly options: ReplayMappingOptions,
  ) {}

  /** Returns the UUIDs of all mappings, including those that are being deleted. */
  async list(): Promise<string[]> {
    const uuids: string[] = [];
    const pages = paginateListEventSourceMappings(
      { client: this.client },
      { FunctionName: this.options.functionName },
    );
    for await (const page of pages)
      for (const { UUID } of page.EventSourceMappings ?? []) if (UUID !== undefined) uuids.push(UUID);
    return uuids;
  }

  /**
   * Creates a mapping.
   *
   * @param fromMs arrival time of the first records to read, in ms; 0 for the oldest record in the stream
   * @returns the mapping's UUID
   */
  async create(fromMs: number): Promise<string> {
    const { functionName, streamArn, batchSize, batchWindowMs } = this.options;
    const { UUID } = await this.client.send(
      new CreateEventSourceMappingCommand({
        FunctionName: functionName,
        EventSourceArn: streamArn,
        ...(fromMs === 0
          ? { StartingPosition: 'TRIM_HORIZON' }
          : { StartingPosition: 'AT_TIMESTAMP', StartingPositionTimestamp: new Date(fromMs) }),
        BatchSize: batchSize,
        MaximumBatchingWindowInSeconds: Math.round(batchWindowMs / 1000),
        // While a store is down, Lambda retries a record without limit. Records that cannot be decoded do not
        // block the shard: the function puts them into quarantine.
        FunctionResponseTypes: ['ReportBatchItemFailures'],
      }),
    );
    return UUID!;
  }

  /** Starts the deletion of a mapping. AWS completes the deletion later. */
  async delete(uuid: string): Promise<void> {
    try {
      await this.client.send(new DeleteEventSourceMappingCommand({ UUID: uuid }));
    } catch (error) {
      // Either the mapping no longer exists, or Lambda is still changing it. In the second case, the next step of
      // recovery tries again.
      if (error instanceof ResourceNotFoundException || error instanceof ResourceInUseException) return;
      throw error;
    }
  }
}
