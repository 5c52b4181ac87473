import { executeStatement } from '../../../../shared/protocol/influx/statement';

test.each([
  'CREATE DATABASE "telegraf"',
  'create database telegraf',
  'CREATE DATABASE "with \\"quotes\\" and spaces"; ',
  'CREATE DATABASE "t" WITH DURATION 3d REPLICATION 1 NAME "x"',
])('%s succeeds, as InfluxDB 1 answers it', (text) => {
  expect(executeStatement(text)).toEqual({ status: 200, body: { results: [{ statement_id: 0 }] } });
});

test.each([
  { text: undefined, says: 'missing required parameter "q"' },
  { text: '', says: 'missing required parameter "q"' },
  { text: 'SHOW DATABASES', says: 'only CREATE DATABASE' },
  { text: 'CREATE DATABASE', says: 'only CREATE DATABASE' },
  { text: 'CREATE DATABASE a; DROP DATABASE a', says: 'only CREATE DATABASE' },
  { text: 'SELECT * FROM cpu', says: 'only CREATE DATABASE' },
])('$text is refused: $says', ({ text, says }) => {
  expect(executeStatement(text)).toEqual({ status: 400, body: { error: expect.stringContaining(says) } });
});
