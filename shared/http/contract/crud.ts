import type * as z from 'zod';

/**
 * Builds the list, create, replace and delete routes of one kind of object, with Mackerel's HTTP methods.
 */
export function crudRoutes<
  const Path extends string,
  const Parameter extends string,
  Body extends z.ZodType,
  ResponseSchema extends z.ZodType,
  List extends z.ZodType,
>(kind: {
  readonly path: Path;
  /** Name of the path parameter, without braces. */
  readonly parameter: Parameter;
  /** The object's name in a summary, with its article: `a monitor`. */
  readonly one: string;
  readonly many: string;
  readonly body: Body;
  readonly response: ResponseSchema;
  readonly list: List;
}) {
  const { path, one, many, body, response, list } = kind;
  const onePath = `${path}/{${kind.parameter}}` as `${Path}/{${Parameter}}`;
  return [
    { method: 'GET', path, right: 'read', function: 'registry', summary: `List ${many}`, response: list },
    { method: 'POST', path, right: 'write', function: 'registry', summary: `Create ${one}`, body, response },
    {
      method: 'PUT',
      path: onePath,
      right: 'write',
      function: 'registry',
      summary: `Replace ${one}`,
      body,
      response,
    },
    {
      method: 'DELETE',
      path: onePath,
      right: 'write',
      function: 'registry',
      summary: `Delete ${one}`,
      response,
    },
  ] as const;
}
