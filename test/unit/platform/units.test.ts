import { itemBytes, putUnitsOf, readUnitsOf, writeUnitsOf } from '../../../shared/platform/units';

const bytes = (length: number) => ({ B: new Uint8Array(length) });
/** An item of `length` bytes: `pk` and `key` take 5, the name `chunk` takes 5, the chunk takes the rest. */
const itemOf = (length: number) => ({ pk: { S: 'key' }, chunk: bytes(length - 10) });

describe('units by size', () => {
  test.each([
    { name: 'an item of 1024 bytes, names included, is one', input: { Item: itemOf(1024) }, units: 1 },
    { name: 'of a byte more, two', input: { Item: itemOf(1025) }, units: 2 },
    {
      name: 'text counts by its bytes in UTF-8, not its characters',
      input: { Item: { pk: { S: '計'.repeat(340) } } },
      units: 1,
    },
    { name: 'of three bytes more, two', input: { Item: { pk: { S: '計'.repeat(341) } } }, units: 2 },
    {
      name: 'an update is as large as its key and the values it sets',
      input: { Key: { pk: { S: 'key' } }, ExpressionAttributeValues: { ':layout': bytes(3000) } },
      units: 3,
    },
    { name: 'a deletion is one at least', input: { Key: { pk: { S: 'key' } } }, units: 1 },
    {
      name: 'statements of a batch are written each by itself',
      input: { Statements: [{ Parameters: [bytes(1500)] }, { Parameters: [bytes(100)] }, {}] },
      units: 4,
    },
  ])('written: $name', ({ input, units }) => {
    expect(writeUnitsOf(input)).toBe(units);
  });

  test.each([
    { name: 'nothing found is one', consistent: true, output: {}, units: 1 },
    { name: 'and half of one when it need not be consistent', consistent: false, output: {}, units: 0.5 },
    { name: 'an item of 4097 bytes', consistent: true, output: { Item: itemOf(4097) }, units: 2 },
    {
      name: 'a page counts by its sum: ten items of 500 bytes',
      consistent: true,
      output: { Items: Array.from({ length: 10 }, () => itemOf(500)) },
      units: 2,
    },
  ])('read: $name', ({ consistent, output, units }) => {
    expect(readUnitsOf({ ConsistentRead: consistent }, output)).toBe(units);
  });

  test.each<{ name: string; item: Parameters<typeof itemBytes>[0]; bytes: number }>([
    { name: 'names and text, in UTF-8', item: { pk: { S: 'é' } }, bytes: 4 },
    {
      name: 'binary as bytes, also when it is in base64',
      item: { c: { B: Buffer.alloc(100).toString('base64') } },
      bytes: 101,
    },
    { name: 'a number by its significant digits', item: { n: { N: '-0012.345' } }, bytes: 1 + 4 },
    {
      name: 'sets by their members',
      item: { n: { NS: ['12', '3'] }, s: { SS: ['ab', 'c'] } },
      bytes: 1 + 4 + 1 + 3,
    },
    {
      name: 'a list by its values, a byte for each, and three',
      item: { l: { L: [{ S: 'ab' }] } },
      bytes: 1 + 3 + 1 + 2,
    },
  ])('an item is $name', ({ item, bytes }) => {
    expect(itemBytes(item)).toBe(bytes);
  });

  test('put into the stream: 25 KB each, begun ones whole', () => {
    expect([1, 25_000, 25_001].map(putUnitsOf)).toEqual([1, 1, 2]);
  });
});
