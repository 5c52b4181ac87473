import { type MappingResource, mappingOf, nameOfArn } from '../local/template';
import { AwsError } from './aws-error';
import type { Functions, Mapping } from './functions';
import { type Call, json, type SdkResponse } from './http';

/** The mappings of the simulation, by id. */
export interface Mappings {
  readonly all: ReadonlyMap<string, Mapping>;
  create(resource: MappingResource, fromMs: number): string;
  delete(id: string): void;
}

/** Answers the calls to Lambda's API that functions make: Invoke, and the replay's mapping. */
export async function callLambda(
  { operation, subject, input, request }: Call,
  functions: Functions,
  mappings: Mappings,
): Promise<SdkResponse> {
  const path = decodeURIComponent(subject)
    .replace(/^\/2015-03-31\//, '')
    .replace(/\/$/, '');
  const invoked = /^functions\/([^/]+)\/invocations$/.exec(path)?.[1];
  if (invoked !== undefined) {
    const result = await functions.invoke(nameOfArn(invoked), input);
    if (result.ok) return json(200, result.payload);
    const { errorType, errorMessage } = result;
    return json(200, { errorType, errorMessage }, { 'x-amz-function-error': 'Unhandled' });
  }
  const [collection, id] = path.split('/');
  if (collection !== 'event-source-mappings') throw new AwsError(404, 'ResourceNotFoundException', path);
  if (operation === 'GET') {
    const name = nameOfArn(request.query?.FunctionName ?? '');
    const found = [...mappings.all].filter(([, { resource }]) => resource.functionName === name);
    return json(200, { EventSourceMappings: found.map(([UUID]) => ({ UUID })) });
  }
  if (operation === 'DELETE') {
    if (!mappings.all.has(id ?? '')) throw new AwsError(404, 'ResourceNotFoundException', path);
    mappings.delete(id!);
    return json(202, { UUID: id });
  }
  const mapping = mappingOf(input);
  if ([...mappings.all.values()].some(({ resource }) => resource.functionName === mapping.functionName))
    throw new AwsError(409, 'ResourceConflictException', 'the mapping exists');
  const UUID = mappings.create(mapping, Number(input.StartingPositionTimestamp ?? 0) * 1000);
  return json(202, { UUID });
}
