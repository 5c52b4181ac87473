/** A DynamoDB attribute value in its wire format. */
type Attribute = Readonly<Record<string, unknown>>;
type Item = Readonly<Record<string, Attribute>>;

const UNIT_BYTES = 1024;

/**
 * Returns the bytes of an item as DynamoDB counts them: names and values, without indexes.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export function itemBytes(item: Item): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value),
    0,
  );
}

function valueBytes(attribute: Attribute): number {
  const [type, value] = Object.entries(attribute)[0]!;
  switch (type) {
    case 'S':
      return Buffer.byteLength(value as string);
    case 'B':
      return Buffer.byteLength(value as string, 'base64');
    case 'N':
      return numberBytes(value as string);
    case 'NS':
      return (value as string[]).reduce((sum, number) => sum + numberBytes(number), 0);
    case 'SS':
      return (value as string[]).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    case 'BOOL':
    case 'NULL':
      return 1;
    case 'L':
      return (value as Attribute[]).reduce((sum, each) => sum + 1 + valueBytes(each), 3);
    default:
      throw new Error(`the bench cannot size an attribute of type ${type}`);
  }
}

/** Returns the bytes of a number: one per two significant digits, plus one. */
function numberBytes(text: string): number {
  return Math.ceil(text.replace(/^-?0*|[-.]/g, '').length / 2) + 1;
}

function unitsOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / UNIT_BYTES));
}

/**
 * Counts a request's write units: one per KB of each item, rounded up. A refused conditional write counts,
 * too. Of an update, only its key and the values it sets are counted, because the rest of the item is not
 * known here.
 *
 * @param input the request's JSON, with `B` in base64
 */
export function writeUnitsOf(operation: string, input: Readonly<Record<string, unknown>>): number {
  switch (operation) {
    case 'PutItem':
      return unitsOf(itemBytes(input.Item as Item));
    case 'UpdateItem':
      return unitsOf(
        itemBytes(input.Key as Item) + itemBytes((input.ExpressionAttributeValues ?? {}) as Item),
      );
    case 'DeleteItem':
      return 1;
    case 'BatchExecuteStatement':
      return (input.Statements as { Parameters: Attribute[] }[]).reduce(
        (sum, { Parameters }) =>
          sum + unitsOf(Parameters.reduce((bytes, value) => bytes + valueBytes(value), 0)),
        0,
      );
    case 'GetItem':
    case 'BatchGetItem':
    case 'Query':
      return 0;
    default:
      throw new Error(`the bench cannot count the write units of ${operation}`);
  }
}

const READ_UNIT_BYTES = 4096;

/**
 * Counts the units of a consistent read: one per 4 KB, rounded up, of a query's items together, otherwise of
 * each item. What a projection leaves out is not known here.
 *
 * @param output the answer's JSON, with `B` in base64
 */
export function readUnitsOf(
  operation: string,
  output: Readonly<Record<string, unknown>>,
  keys: number,
): number {
  const units = (bytes: number) => Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES));
  switch (operation) {
    case 'GetItem':
      return units(output.Item === undefined ? 0 : itemBytes(output.Item as Item));
    case 'Query':
      return units((output.Items as Item[]).reduce((sum, item) => sum + itemBytes(item), 0));
    case 'BatchGetItem': {
      const items = Object.values(output.Responses as Record<string, Item[]>).flat();
      // A key without an item costs one unit, too.
      return items.reduce((sum, item) => sum + units(itemBytes(item)), keys - items.length);
    }
    default:
      return 0;
  }
}
