import type { HotClient } from './connection';
import { FrameAppender } from './frame-appender';
import { FrameMover } from './frame-mover';
import { FrameReader } from './frame-reader';
import { HotNodes } from './hot-nodes';
import { HotSpace } from './hot-space';
import { PartitionMarks } from './partition-marks';
import { AT_ONCE, type ReadPace } from './read-pace';
import { defineScripts } from './scripts';

/**
 * The memory tier, in Redis or Valkey. There is one class for each user of the tier: ingester, flusher,
 * readers and so on. A call reaches the keys of only one partition, which share a cluster slot. Every
 * decision that must be atomic is one Lua script.
 */
export class HotTier {
  readonly appender: FrameAppender;
  readonly mover: FrameMover;
  readonly reader: FrameReader;
  readonly marks: PartitionMarks;
  readonly nodes: HotNodes;
  readonly space: HotSpace;

  /**
   * @param ttlMs time to live of a key that is never flushed: a safety net far beyond residency
   * @param pace decides when reads of windows may start
   */
  constructor(
    private readonly client: HotClient,
    ttlMs: number,
    pace: ReadPace = AT_ONCE,
  ) {
    const redis = defineScripts(client);
    this.nodes = new HotNodes(redis);
    this.appender = new FrameAppender(redis, ttlMs);
    this.mover = new FrameMover(redis, ttlMs);
    this.reader = new FrameReader(redis, pace);
    this.marks = new PartitionMarks(redis, this.nodes);
    this.space = new HotSpace(redis, this.nodes);
  }

  async close(): Promise<void> {
    await this.client.quit();
  }
}
