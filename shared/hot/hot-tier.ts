import type { HotClient } from './connection';
import { FrameAppender } from './frame-appender';
import { FrameMover } from './frame-mover';
import { FrameReader } from './frame-reader';
import { HotNodes } from './hot-nodes';
import { HotSpace } from './hot-space';
import { PartitionMarks } from './partition-marks';
import { defineScripts } from './scripts';

/**
 * The memory tier, in Redis or Valkey. It has one class for each kind of user: the ingester, the flusher, readers and
 * so on. A call uses the keys of one partition, which are all in one hash slot. Every decision that must be atomic is
 * one Lua script.
 */
export class HotTier {
  readonly appender: FrameAppender;
  readonly mover: FrameMover;
  readonly reader: FrameReader;
  readonly marks: PartitionMarks;
  readonly nodes: HotNodes;
  readonly space: HotSpace;

  /**
   * @param ttlMs time to live, in ms, of frames that no flusher moves: a safety net, far longer than the residency
   * @param mayRead resolves when a call that reads frames may start; by default immediately
   */
  constructor(
    private readonly client: HotClient,
    ttlMs: number,
    mayRead: () => Promise<void> = async () => {},
  ) {
    const redis = defineScripts(client);
    this.nodes = new HotNodes(redis);
    this.appender = new FrameAppender(redis, ttlMs);
    this.mover = new FrameMover(redis, ttlMs);
    this.reader = new FrameReader(redis, mayRead);
    this.marks = new PartitionMarks(redis, this.nodes);
    this.space = new HotSpace(redis, this.nodes);
  }

  async close(): Promise<void> {
    await this.client.quit();
  }
}
