import { writeUnitsOf } from '../../../shared/platform/units';

const WRITES = /^(PutItem|UpdateItem|DeleteItem|BatchExecuteStatement)$/;

/**
 * Returns the write units of a call to DynamoDB, as functions count them; 0 for a read.
 *
 * @param input the request's JSON
 */
export function writeUnitsOfCall(operation: string, input: object): number {
  return WRITES.test(operation) ? writeUnitsOf(input) : 0;
}
