import { EXAMPLE_TIME, PATH_EXAMPLES } from '../../shared/http/examples';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { OpenApiChecker } from '../support/openapi-checker';
import { until } from '../support/until';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly example?: string | readonly string[];
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Calls that the test does not send, with the reason. */
const NOT_SENT: Readonly<Record<string, string>> = {
  'POST /prometheus/api/v1/write': 'The body is protobuf: unit/protocol/prometheus has requests.',
  'POST /prometheus/api/v1/read': 'The body is protobuf: integration/prometheus has requests.',
  'POST /v1/metrics': 'The body is protobuf: unit/protocol/otlp has requests.',
  'DELETE /api/v0/services/{serviceName}/graph-defs/{graphName}': 'Services have no graph definitions: 404.',
};

/** Calls that create what other calls need, in this order. */
const FIRST = ['/api/v0/services', '/api/v0/services/{serviceName}/roles', '/api/v0/hosts'];
/** Calls that read samples of one metric. They answer 404 until the metric has samples. */
const SAMPLES = /(metrics|latest)$/;
/** Calls that create and delete rule groups of a namespace. */
const RULES = '/prometheus/config/v1/rules/{namespace}';
/** Calls that end something that the reads must see first. */
const ENDS = /\/(close|retire|bulk-retire)$/;

/**
 * Returns a number by which calls are ordered: calls that create, then update, then read, and last end or
 * delete.
 */
function stepOf({ method, path }: Call): number {
  // Delete inner objects first: the longer of two paths leads to an object inside the object of the shorter
  // one.
  if (method === 'DELETE')
    return (FIRST.some((first) => path.startsWith(`${first}/`)) ? 60 : 50) - path.length / 100;
  if (ENDS.test(path)) return 40;
  if (method === 'GET') return 30;
  if (method === 'PUT') return 20;
  return FIRST.includes(path) ? FIRST.indexOf(path) : 10;
}

describe('the API reference', () => {
  let stack: LocalStack;

  beforeAll(async () => {
    stack = await startLocalStack({});
  });

  afterAll(async () => {
    await stack?.stop();
  });

  test('has an example for each call, and the server answers each as the document says', async () => {
    const document = (await (await fetch(`${stack.url}/openapi.json`)).json()) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    };
    const checker = new OpenApiChecker(document as unknown as Record<string, unknown>);
    const calls = Object.entries(document.paths)
      .flatMap(([path, operations]) =>
        Object.entries(operations).map(([method, operation]) => ({
          method: method.toUpperCase(),
          path,
          operation,
        })),
      )
      .filter(({ method, path }) => !(`${method} ${path}` in NOT_SENT))
      .sort((a, b) => stepOf(a) - stepOf(b));

    // The ids on this server and a recent time, keyed by the placeholder in the examples.
    const real = new Map([[String(EXAMPLE_TIME), String(Math.floor(Date.now() / 60_000) * 60)]]);
    real.set(String(EXAMPLE_TIME - 3600), String(Number(real.get(String(EXAMPLE_TIME))) - 3600));
    const localized = (text: string) =>
      [...real].reduce((changed, [shown, value]) => changed.replaceAll(shown, value), text);
    const learn = (parameter: string, id: string) => real.set(PATH_EXAMPLES[parameter]!, id);

    const send = async ({ method, path, operation }: Call) => {
      const { url, init } = requestOf(path, operation);
      const response = await fetch(stack.url + localized(url), {
        ...init,
        headers: { ...init.headers, 'x-api-key': stack.apiKey },
        ...(init.body !== undefined && { body: localized(init.body) }),
        method,
      });
      const text = await response.text();
      const expected = Number(Object.keys(operation.responses).find((status) => status.startsWith('2')));
      const flaw =
        response.status === expected
          ? checker.flawOf(method, path, response.status, response.headers.get('content-type'), text)
          : `${response.status} ${text.slice(0, 300)}`;
      return { flaw, text };
    };

    const flaws: string[] = [];
    for (const call of calls) {
      const { method, path } = call;
      // The deletion of a namespace needs a rule group in it. The test has already deleted the first one.
      if (method === 'DELETE' && path === RULES)
        await send(calls.find((each) => each.method === 'POST' && each.path === RULES)!);
      // A sample becomes readable only a moment after it was sent.
      const { flaw, text } = await (method === 'GET' && SAMPLES.test(path)
        ? until(
            `${method} ${path}`,
            () => send(call),
            ({ flaw: seen }) => !seen?.startsWith('404'),
          )
        : send(call));
      if (flaw !== undefined) flaws.push(`${method} ${path}: ${flaw}`);
      if (method !== 'POST' || flaw !== undefined) continue;
      const child = Object.keys(document.paths).find(
        (each) => /^\/\{\w+Id\}$/.test(each.slice(path.length)) && each.startsWith(path),
      );
      const { id } = /^\{/.test(text) ? (JSON.parse(text) as { id?: string }) : {};
      if (child !== undefined && id !== undefined) learn(child.slice(path.length + 2, -1), id);
      if (path.endsWith('/silences'))
        learn('silenceId', (JSON.parse(text) as { silenceID: string }).silenceID);
      if (path.endsWith('/checks/report')) {
        learn('alertId', await firstId('alerts'));
        learn('checkId', await firstId('monitoring/checks'));
      }
    }
    expect(flaws).toEqual([]);
  });

  /** Returns the id of the first object of a list, when the list has one. */
  async function firstId(list: string): Promise<string> {
    const [first] = await until(
      list,
      async () => {
        const response = await fetch(`${stack.url}/api/v0/${list}`, {
          headers: { 'x-api-key': stack.apiKey },
        });
        return Object.values((await response.json()) as object).find(Array.isArray) as { id: string }[];
      },
      (found) => found.length > 0,
    );
    return first!.id;
  }
});

/** Makes the request that a call's examples describe. */
function requestOf(path: string, { parameters = [], requestBody }: Operation) {
  const examples = new Map(parameters.map(({ name, example }) => [name, example]));
  const inPath = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(examples.get(name))));
  const query = new URLSearchParams(
    parameters
      .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
      .flatMap(({ name, example }) => [example!].flat().map((value): [string, string] => [name, value])),
  ).toString();
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const { example } = media ?? {};
  return {
    url: query === '' ? inPath : `${inPath}?${query}`,
    init: {
      headers: type === undefined ? {} : { 'content-type': type },
      ...(example !== undefined && {
        body:
          typeof example === 'string'
            ? example
            : type === 'application/json'
              ? JSON.stringify(example)
              : new URLSearchParams(example as Record<string, string>).toString(),
      }),
    },
  };
}
