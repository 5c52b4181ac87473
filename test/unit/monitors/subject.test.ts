import type { Monitor } from '../../../shared/monitors/monitor';
import { subjectOf } from '../../../shared/monitors/subject';

const KEY = JSON.stringify([
  ['__name__', 'errors'],
  ['job', 'shop'],
]);
const sources = { hosts: new Map(), services: [] };

function subjectOfQuery(query: string, legend: string) {
  const monitor = { id: 'm', type: 'query', name: 'n', query, legend, operator: '>', critical: 1 } as Monitor;
  return subjectOf(monitor, KEY, sources);
}

test.each([
  { legend: '{{job}} and {{ job }}', shown: 'shop and shop' },
  { legend: '{{none}}{{constructor}}{{}}{{ }}.', shown: '.' },
  { legend: '{{\t job\n}}', shown: 'shop' },
  { legend: '{{ {{job}} }}', shown: '{{ shop }}' },
  { legend: '{job} {{job} {{jo}b}}', shown: '{job} {{job} {{jo}b}}' },
])('the legend $legend is shown as $shown', ({ legend, shown }) => {
  expect(subjectOfQuery('errors', legend).metricLabel).toBe(shown);
});

test('the longest query takes linear time, whatever braces and spaces it has', () => {
  const query = `{{${' '.repeat(9_998)}`;
  expect(subjectOfQuery(query, '').metricLabel).toBe(query);
});
