import { itemBytes, writeUnitsOf } from '../../../scripts/bench/frame/table-units';

const key = { pk: { S: 'p' }, sk: { S: 's' } };
const base64 = (bytes: number) => Buffer.alloc(bytes).toString('base64');

test.each<{ name: string; item: Parameters<typeof itemBytes>[0]; bytes: number }>([
  { name: 'names and text, in UTF-8', item: { pk: { S: 'é' } }, bytes: 4 },
  { name: 'binary as bytes, not as base64', item: { c: { B: base64(100) } }, bytes: 101 },
  { name: 'a number by its significant digits', item: { n: { N: '-0012.345' } }, bytes: 1 + 4 },
  {
    name: 'sets by their members',
    item: { n: { NS: ['12', '3'] }, s: { SS: ['ab', 'c'] } },
    bytes: 1 + 4 + 1 + 3,
  },
])('an item is $name', ({ item, bytes }) => {
  expect(itemBytes(item)).toBe(bytes);
});

test.each([
  {
    name: 'an item of one KB',
    operation: 'PutItem',
    input: { Item: { ...key, c: { B: base64(1017) } } },
    units: 1,
  },
  {
    name: 'one byte more',
    operation: 'PutItem',
    input: { Item: { ...key, c: { B: base64(1018) } } },
    units: 2,
  },
  { name: 'a deletion', operation: 'DeleteItem', input: { Key: key }, units: 1 },
  {
    name: 'an update, by the values it sets',
    operation: 'UpdateItem',
    input: { Key: key, ExpressionAttributeValues: { ':c': { B: base64(2048) } } },
    units: 3,
  },
  { name: 'an update that sets nothing', operation: 'UpdateItem', input: { Key: key }, units: 1 },
  {
    name: 'each statement of a batch',
    operation: 'BatchExecuteStatement',
    input: { Statements: [{ Parameters: [{ S: 'a' }] }, { Parameters: [{ B: base64(1025) }] }] },
    units: 3,
  },
  { name: 'a read, none', operation: 'Query', input: {}, units: 0 },
])('write units: $name', ({ operation, input, units }) => {
  expect(writeUnitsOf(operation, input)).toBe(units);
});

test('an unknown request is an error, not a guess', () => {
  expect(() => writeUnitsOf('TransactWriteItems', {})).toThrow('TransactWriteItems');
});
