import { decodeJson, encodeJson } from '../../../../shared/alerting/tasks/task-states';

test.each([
  { value: Number.NaN },
  { value: Number.POSITIVE_INFINITY },
  { value: Number.NEGATIVE_INFINITY },
  { value: 1.5 },
  { value: null },
  { labels: { value: 'db' }, value: 1 },
  { labels: { value: '12' }, annotations: { value: '' } },
  { labels: { value: 'NaN' }, value: Number.NaN },
  { labels: { value: '-Infinity' }, annotations: { value: '\\NaN' } },
])('%j is read as it was written', (given) => {
  expect(decodeJson(encodeJson(given))).toEqual(given);
});
