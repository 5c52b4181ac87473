import { ALARM_TEXTS, MAX_DESCRIPTION } from '../../infra/monitoring/alarm-texts';
import {
  ESSENTIAL_METRICS,
  FUNCTIONS,
  functionName,
  METRIC_NAMESPACE,
  METRICS,
  type MeteredFunction,
} from '../../shared/platform/names';
import { watchedMetrics } from '../support/watched-metrics';
import { MANUAL, manualAlarms } from './manual';
import { synthesize } from './synthesize';

// A stage with every alarm that a stage can have.
const { stateless: production } = synthesize({
  stage: 'production',
  postEndpoint: 'url',
  postConcurrency: '100',
});
const alarms = production.properties('AWS::CloudWatch::Alarm');

describe("the manual's alarms", () => {
  const names = alarms.map(({ AlarmName }) => String(AlarmName).replace('heterotsdb-production-', ''));

  test('say what the mails say', () => {
    const told = manualAlarms().map(({ name, ...texts }) => [name, texts]);
    expect(Object.fromEntries(told)).toEqual(ALARM_TEXTS);
  });

  /** The name of an alarm's section: without the function or the table. */
  const sectionOf = (alarm: string): string =>
    alarm
      .replace(new RegExp(`^(function-(?:errors|throttled))-(?:${FUNCTIONS.join('|')})$`), '$1')
      .replace(/^(table-throttled)-.*$/, '$1');

  test('are all alarms, each once, in the order of the dashboard', () => {
    expect(manualAlarms().map(({ name }) => name)).toEqual([...new Set(names.map(sectionOf))]);
  });

  test('say what each means, what to do, and when to wake someone', () => {
    for (const { name, meaning, action, wake } of manualAlarms())
      expect({ name, meaning, action, wake }).toEqual({
        name,
        meaning: expect.stringMatching(/^[A-Z].*\.$/),
        action: expect.stringMatching(/\.$/),
        wake: expect.stringMatching(/^(?:Wake someone|Do not wake anyone)\b.*\.$/),
      });
  });
});

test('every alarm says what happened and what to do, and notifies the topic when it begins and ends', () => {
  for (const { AlarmName, AlarmDescription, AlarmActions, OKActions } of alarms) {
    // The text has the first step, and what to do for each of its results.
    expect({ AlarmName, AlarmDescription }).toMatchObject({
      AlarmDescription: expect.stringMatching(
        /^[A-Z].*\. WHAT TO DO: (?=.*(Run|run|Look|Wait)).*\b(If|Is|Then)\b.*\. Runbooks: infra\/README\.md\.$/,
      ),
    });
    // The reader of a mail has neither the manual nor its variables.
    expect(AlarmDescription).not.toMatch(/SUBJECT|STAGE|\$STACK|\]\(/);
    expect(String(AlarmDescription).length).toBeLessThanOrEqual(MAX_DESCRIPTION);
    expect([AlarmActions, OKActions]).toEqual([[{ Ref: expect.stringMatching(/Topic/) }], AlarmActions]);
  }
});

test('alarms and dashboard name only metrics that a function counts, with that function as their dimension', () => {
  const counted = Object.entries(METRICS).flatMap(([name, metrics]) =>
    metrics.map(
      (metric) =>
        `HeteroTSDB ${metric} Function="${functionName('production', name as MeteredFunction)}",service="heterotsdb"`,
    ),
  );
  const watched = watchedMetrics(production);
  expect(watched.length).toBeGreaterThan(10);
  for (const metric of watched) expect(counted).toContain(metric);
});

describe('a stage with the essential monitoring', () => {
  const { stateless } = synthesize({ stage: 'dev' });
  const essential = stateless.properties('AWS::CloudWatch::Alarm');
  const names = essential.map(({ AlarmName }) => String(AlarmName).replace('heterotsdb-dev-', ''));

  test('has the alarms that the manual names, and no dashboard', () => {
    const [, told = ''] = /With `monitoring=essential`([\s\S]*?)\. The rest/.exec(MANUAL) ?? [];
    const listed = [...told.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name!);
    expect([...listed].sort()).toEqual([...names].sort());
    expect(stateless.properties('AWS::CloudWatch::Dashboard')).toEqual([]);
  });

  test('publishes exactly the metrics of our own that they watch', () => {
    const own = essential
      .filter(({ Namespace }) => Namespace === METRIC_NAMESPACE)
      .map(({ MetricName }) => MetricName);
    expect(own.sort()).toEqual([...ESSENTIAL_METRICS].sort());
  });

  test('has the others and the dashboard when asked to', () => {
    const { stateless: full } = synthesize({ stage: 'dev', monitoring: 'full' });
    expect(full.properties('AWS::CloudWatch::Alarm').length).toBeGreaterThan(4 * names.length);
    expect(full.properties('AWS::CloudWatch::Dashboard')).toHaveLength(1);
  });
});

describe('work that runs only now and then', () => {
  const alarmOf = (name: string) => {
    const found = alarms.find(({ AlarmName }) => AlarmName === `heterotsdb-production-${name}`)!;
    const { Metrics: _, ...alarm } = found;
    return alarm as { Period: number; DatapointsToAlarm: number; EvaluationPeriods: number };
  };

  test.each(['errors-archiver', 'errors-operator', 'throttled-archiver', 'throttled-operator'])(
    'one event an hour sets off function-%s',
    (name) => {
      const { Period, DatapointsToAlarm, EvaluationPeriods } = alarmOf(`function-${name}`);
      const runs = Math.max(1, Math.floor((Period * EvaluationPeriods) / 3600));
      expect(DatapointsToAlarm).toBeLessThanOrEqual(runs);
    },
  );

  test('a redrive that always ends with an error, and so counts nothing, sets off its alarm', () => {
    expect(alarmOf('redrive-failures')).toMatchObject({ Period: 900, TreatMissingData: 'breaching' });
  });
});

test('thresholds follow the settings', () => {
  const { stateless } = synthesize({ stage: 'production', window: '4h', flushDelay: '2h' });
  const above = (name: string) =>
    stateless
      .properties('AWS::CloudWatch::Alarm')
      .find(({ AlarmName }) => AlarmName === `heterotsdb-production-${name}`)!.Threshold;
  expect(above('flush-lag')).toBe(6 * 3600 + 900);
  // A quarter of the 168 h after which keys expire.
  expect(above('unflushed-age')).toBe(42 * 3600);
});

test('every node of the cache is watched, at most ten by one alarm', () => {
  const { stateless } = synthesize({ stage: 'production', cacheShards: '6' });
  const memory = stateless
    .properties('AWS::CloudWatch::Alarm')
    .filter(({ AlarmName }) => /-cache-memory(-\d+)?$/.test(AlarmName));
  expect(memory.map(({ AlarmName }) => AlarmName)).toEqual([
    'heterotsdb-production-cache-memory',
    'heterotsdb-production-cache-memory-2',
  ]);
  const nodes = memory.flatMap(({ Metrics }) => Metrics).filter(({ MetricStat }) => MetricStat !== undefined);
  expect(nodes).toHaveLength(12);
  expect(JSON.stringify(nodes)).toContain('-0006-002');
});
