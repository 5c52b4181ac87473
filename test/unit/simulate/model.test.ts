import { Model, SETTLED_MS, type Series, usualValue } from '../../../scripts/simulate/model';

/** 2028-02-26T00:00:00Z, in seconds. */
const START_S = Date.UTC(2028, 1, 26) / 1000;

function setUp() {
  let nowMs = START_S * 1000;
  const model = new Model(() => nowMs);
  const series: Series = { hostId: 'host', name: 'custom.a', seed: 7, days: new Map() };
  const usual = usualValue(series, START_S);
  const flaws = (value: number | undefined, moment = model.moment) =>
    model.flawsOf(series, value === undefined ? [] : [{ time: START_S, value }], START_S, START_S, moment);
  return {
    model,
    usual,
    flaws,
    post: (value = usual) => model.sending([{ series, time: START_S, value }]),
    remove: () => model.deleting([series], 0, Infinity),
    settle: () => {
      nowMs += SETTLED_MS;
      model.settle();
    },
  };
}

test('an acknowledged sample is there, and no other value', () => {
  const { post, usual, flaws, settle } = setUp();
  post()('acknowledged');
  for (const look of [() => {}, settle]) {
    look();
    expect(flaws(usual)).toEqual([]);
    expect(flaws(undefined)).toHaveLength(1);
    expect(flaws(usual + 1)).toHaveLength(1);
  }
});

test('a later correction wins, and an earlier request cannot', () => {
  const { post, usual, flaws, settle } = setUp();
  post()('acknowledged');
  settle();
  post(1)('acknowledged');
  settle();
  expect(flaws(1)).toEqual([]);
  expect(flaws(usual)).toHaveLength(1);
});

test('of two requests at the same time either may win', () => {
  const { post, usual, flaws } = setUp();
  const [first, second] = [post(), post(1)];
  first('acknowledged');
  second('acknowledged');
  expect([flaws(1), flaws(usual)]).toEqual([[], []]);
});

test('a request without an answer may or may not have arrived', () => {
  const { post, flaws, usual } = setUp();
  post()('unknown');
  expect([flaws(undefined), flaws(usual)]).toEqual([[], []]);
  post(1)('refused');
  expect(flaws(1)).toHaveLength(1);
});

test('a deletion removes what was acknowledged before it, and nothing that comes later', () => {
  const { post, remove, usual, flaws, settle } = setUp();
  post()('acknowledged');
  remove()('acknowledged');
  expect(flaws(undefined)).toEqual([]);
  expect(flaws(usual)).toHaveLength(1);
  settle();
  expect(flaws(usual)).toHaveLength(1);
  post()('acknowledged');
  expect(flaws(usual)).toEqual([]);
  expect(flaws(undefined)).toHaveLength(1);
});

test('what was acknowledged after a moment need not be there yet', () => {
  const { model, post, flaws } = setUp();
  const { moment } = model;
  post()('acknowledged');
  expect(flaws(undefined, moment)).toEqual([]);
  expect(flaws(undefined)).toHaveLength(1);
});
