/**
 * The archiver of `bench archive-day`, in its own process, so that its memory can be measured and it can be
 * killed.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { archiveDay } from '../../../shared/archive/execute';
import { mergeInTime } from '../../../shared/archive/merge';
import { Catalogue } from '../../../shared/catalogue/catalogue';
import { ChangeList } from '../../../shared/catalogue/change-list';
import { DeletionTable } from '../../../shared/catalogue/deletion-table';
import { sampleCount } from '../../../shared/codec';
import { ColdTier } from '../../../shared/cold/cold-tier';
import { Directory } from '../../../shared/cold/directory';
import { Manifest } from '../../../shared/cold/manifest';
import type { Layout } from '../../../shared/model/layout';
import type { GroupId } from '../../../shared/model/placement';
import { ENV } from '../../../shared/platform/names';
import { type GroupRange, type WarmItem, WarmTier } from '../../../shared/warm/warm-tier';
import { localAws } from '../../local/provision';
import { DAY, type DayShape, GeneratedDay, REF } from '../data/generated-day';
import { ownCpu } from '../frame/cpu';
import { serve } from '../frame/serve';

export interface ArchiveDayTask extends DayShape {
  readonly port: number;
  readonly partBytes: number;
  readonly act: 'archive' | 'verify';
  readonly sliceMs: number;
}

export interface ArchiveDayAnswer {
  /** Whether everything was archived, or verified. */
  readonly isDone: boolean;
  readonly cpuMs: number;
  /** Part of `cpuMs`, approximately, that generated the warm items. */
  readonly generatedMs: number;
  readonly parts: number;
  readonly samples: number;
  readonly bytes: number;
}

class GeneratedWarm extends WarmTier {
  constructor(private readonly generated: GeneratedDay) {
    super(NO_TABLE, 1);
  }

  override async *day(_ref: unknown, _day: unknown, { from }: GroupRange): AsyncGenerator<WarmItem> {
    yield* this.generated.items(from);
  }
}

const NO_TABLE = { client: new DynamoDBClient(), name: 'none' };

class GeneratedCatalogue extends Catalogue {
  override readonly deletions = new NoDeletions(NO_TABLE, 1, new ChangeList(NO_TABLE, 1, Date.now), Date.now);

  constructor(private readonly generated: GeneratedDay) {
    super(NO_TABLE, 1);
  }

  override async layout(_tenantId: unknown, group: GroupId): Promise<Layout> {
    return this.generated.layout(group);
  }
}

class NoDeletions extends DeletionTable {
  override async of(): Promise<[]> {
    return [];
  }
}

serve(async (task: ArchiveDayTask): Promise<ArchiveDayAnswer> => {
  const { port, partBytes, act, sliceMs } = task;
  const cpu = ownCpu();
  const address = localAws(port);
  const table = { client: new DynamoDBClient(address), name: process.env[ENV.metaTable]! };
  const cold = new ColdTier(new S3Client({ ...address, forcePathStyle: true }), process.env[ENV.bucket]!);
  const manifest = new Manifest(table);
  const generated = new GeneratedDay(task);
  const endMs = performance.now() + sliceMs;
  const dependencies = {
    warm: new GeneratedWarm(generated),
    catalogue: new GeneratedCatalogue(generated),
    cold,
    manifest,
    directory: new Directory(table, 1e9),
    now: Date.now,
  };
  const isDone =
    act === 'archive'
      ? await archiveDay(
          dependencies,
          REF,
          { day: DAY },
          { partBytes, mustStop: () => performance.now() > endMs },
        )
      : await verify(cold, manifest, generated);
  const entry = await manifest.get(REF, DAY);
  const parts = entry?.archived?.parts ?? [];
  return {
    isDone,
    cpuMs: cpu(),
    generatedMs: generated.spentMs,
    parts: parts.length,
    samples: parts.reduce((sum, { samples }) => sum + samples, 0),
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
  };
});

/** Reads every part back and compares every sample with the generated one. */
async function verify(cold: ColdTier, manifest: Manifest, generated: GeneratedDay): Promise<boolean> {
  let samples = 0;
  let last = '';
  for (const { key } of (await manifest.get(REF, DAY))!.archived!.parts) {
    const { reader } = (await cold.open(key, { isSequential: true }))!;
    for (const [group, chunks] of Map.groupBy(reader.chunks, (chunk) => chunk.group)) {
      if (group <= last) throw new Error(`group ${group} follows ${last}`);
      last = group;
      const found = [];
      for (const chunk of chunks) found.push((await reader.load(chunk)).decode());
      const [one, ...others] = mergeInTime(found);
      const [expected] = mergeInTime([...generated.blocks(group)]);
      if (others.length > 0) throw new Error(`group ${group} has chunks that were not joined`);
      for (const [i, { values }] of expected!.block.columns.entries())
        if (!equal(values, one!.block.columns[i]!.values))
          throw new Error(`series ${i} of group ${group} differs`);
      if (!equal(expected!.block.timestamps, one!.block.timestamps))
        throw new Error(`times of group ${group} differ`);
      samples += sampleCount(one!.block);
    }
  }
  if (samples !== generated.samples)
    throw new Error(`${samples} samples, ${generated.samples} were generated`);
  return true;
}

function equal(a: Float64Array, b: Float64Array): boolean {
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(
    Buffer.from(b.buffer, b.byteOffset, b.byteLength),
  );
}
