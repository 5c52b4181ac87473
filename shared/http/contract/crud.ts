import type * as z from 'zod';

/** Routes of one kind of objects, as Mackerel has them: a list, and an object that is made, replaced and deleted. */
export function crudRoutes<
  const Path extends string,
  const Parameter extends string,
  Body extends z.ZodType,
  Answer extends z.ZodType,
  List extends z.ZodType,
>(kind: {
  readonly path: Path;
  /** The name of the path's parameter. */
  readonly parameter: Parameter;
  /** One object, with its article. */
  readonly one: string;
  readonly many: string;
  readonly body: Body;
  readonly answer: Answer;
  readonly list: List;
}) {
  const { path, one, many, body, answer, list } = kind;
  const onePath = `${path}/{${kind.parameter}}` as `${Path}/{${Parameter}}`;
  return [
    { method: 'GET', path, right: 'read', function: 'registry', summary: `List ${many}`, answer: list },
    { method: 'POST', path, right: 'write', function: 'registry', summary: `Create ${one}`, body, answer },
    {
      method: 'PUT',
      path: onePath,
      right: 'write',
      function: 'registry',
      summary: `Replace ${one}`,
      body,
      answer,
    },
    {
      method: 'DELETE',
      path: onePath,
      right: 'write',
      function: 'registry',
      summary: `Delete ${one}`,
      answer,
    },
  ] as const;
}
