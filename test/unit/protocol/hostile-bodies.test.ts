/**
 * Takes bodies that are meant to cost far more than their bytes. A long run (`LONG=1`) measures
 * each body in its own process.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { snappyCompress } from 'hysnappy';
import { BUNDLE_OPTIONS } from '../../../infra/bundle-options';
import { POST_MEMORY } from '../../../shared/compose/post-memory';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { influxLines } from '../../../shared/protocol/influx/lines';
import { leastCpuSeconds } from '../../support/cpu-seconds';
import { reduceHostileRecords, takeHostileBody } from '../../support/hostile-body';
import type { BodyCost } from '../../support/hostile-body-process';
import { IS_LONG } from '../../support/long';
import { HOSTILE_BODIES, HOSTILE_NOW_MS, type HostileBody } from './hostile-bodies';

/** Size of each body in a long run, which takes each in a process of its own. */
const LARGEST_BYTES = 3_900_000;
const SHORT_BYTES = 20_000;
/** Maximum uncompressed size of a snappy block. The worst bodies compress to a twentieth. */
const MAX_EXPANDED_BYTES = 33_500_000;

/**
 * Maximum CPU time of a hostile body, as a multiple of that of {@link ORDINARY_BODIES} ordinary bodies. A multiple does
 * not depend on the speed of the machine.
 */
const MOST = 60;
const ORDINARY_BODIES = 100;
let ordinarySeconds: number;

beforeAll(() => {
  const lines = Array.from(
    { length: 400 },
    (_, i) => `cpu,host=h${i % 10} usage=${i},idle=${i / 7} ${HOSTILE_NOW_MS - i}`,
  );
  const body = Buffer.from(lines.join('\n'));
  const dictionary = new SeriesDictionary('t');
  ordinarySeconds = leastCpuSeconds(() => {
    for (let i = 0; i < ORDINARY_BODIES; i++)
      influxLines.parse(
        dictionary,
        body,
        { nowMs: HOSTILE_NOW_MS, maxAgeMs: 86_400_000 },
        { precision: 'ms' },
      );
  });
});

describe('a body that is meant to cost far more than its bytes', () => {
  test.each(HOSTILE_BODIES)('of $encoding: $name', async ({ encoding, make }) => {
    const before = process.cpuUsage();
    const { records } = await takeHostileBody(encoding, compressed(encoding, make(SHORT_BYTES)));
    reduceHostileRecords(records);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(MOST * ordinarySeconds);
  });
});

if (IS_LONG) {
  describe('the largest body of its kind', () => {
    const dir = mkdtempSync(join(tmpdir(), 'hostile-bodies-'));
    const bundle = join(dir, 'process.js');

    beforeAll(() =>
      build({
        ...BUNDLE_OPTIONS,
        entryPoints: [join(__dirname, '../../support/hostile-body-process.ts')],
        outfile: bundle,
      }),
    );

    afterAll(() => rmSync(dir, { recursive: true }));

    test.each(HOSTILE_BODIES)(
      'takes the memory that is reserved for it at most, of $encoding: $name',
      (body) => {
        const file = join(dir, 'body');
        writeFileSync(file, largest(body, LARGEST_BYTES));
        const { stdout, stderr } = spawnSync(
          process.execPath,
          [POST_MEMORY.nodeOptions, bundle, body.encoding, file],
          {
            encoding: 'utf8',
          },
        );
        expect(stderr).toBe('');
        const { outcome, peakBytes, cpuSeconds, ingesterSeconds } = JSON.parse(stdout) as BodyCost;
        console.log(
          `${Math.round(peakBytes / 1e6)} MB, ${cpuSeconds.toFixed(2)} CPU s, ingester ${ingesterSeconds.toFixed(2)} CPU s: ${outcome}`,
        );
        expect(peakBytes).toBeLessThan(POST_MEMORY.worstBody);
        expect(cpuSeconds).toBeLessThan(0.75 * MOST * ordinarySeconds);
        expect(ingesterSeconds).toBeLessThan(0.5 * MOST * ordinarySeconds);
      },
    );
  });
}

/**
 * The largest body that `make` returns for any size and that has at most `maxBytes` bytes, after compression if it is
 * sent compressed.
 */
function largest({ encoding, make }: HostileBody, maxBytes: number): Uint8Array {
  if (!encoding.startsWith('remote-write')) return make(maxBytes);
  for (let size = MAX_EXPANDED_BYTES; ; size /= 2) {
    const body = compressed(encoding, make(size));
    if (body.length <= maxBytes) return body;
  }
}

function compressed(encoding: HostileBody['encoding'], body: Uint8Array): Uint8Array {
  return encoding.startsWith('remote-write') ? snappyCompress(body) : body;
}
