import type { Redis } from 'ioredis';
import { decodeFrame, encodeChunk } from '../../../shared/codec';
import { HotKeys } from '../../../shared/hot/hot-keys';
import { gather } from '../../../shared/model/block-layout';
import { type Id, idText } from '../../../shared/model/id';
import { decodeLayout, mergeLayouts } from '../../../shared/model/layout';
import { unpackLayout } from '../../../shared/model/packed-layout';

/** Most group-windows measured. */
const WINDOWS = 200;

/** Returns the bytes per sample of the chunks that a flush of some group-windows in memory would write. */
export async function warmBytesOf(client: Redis): Promise<number> {
  let bytes = 0;
  let samples = 0;
  for (const key of await windowsOf(client)) {
    const frames = (await client.lrangeBuffer(key, 0, -1)).map(decodeFrame);
    const ids: Id[] = [...new Set(frames.map(({ layout }) => idText(layout)))];
    const packed = await Promise.all(ids.map((id) => client.getBuffer(`${HotKeys.tagOf(key)}:l:${id}`)));
    const layouts = packed.map((each) => decodeLayout(unpackLayout(each!)));
    bytes += encodeChunk(gather(mergeLayouts(layouts), layouts, frames)).length;
    for (const frame of frames) samples += frame.values.length / 8;
  }
  return bytes / samples;
}

async function windowsOf(client: Redis): Promise<string[]> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, found] = await client.scan(cursor, 'MATCH', '*:f:*', 'COUNT', 1_000);
    keys.push(...found);
    cursor = next;
  } while (cursor !== '0' && keys.length < WINDOWS);
  return keys.slice(0, WINDOWS);
}
