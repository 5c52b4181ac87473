import { openApiDocument } from '../shared/http/openapi';

/** The parts of an OpenAPI document that the page shows. */
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: unknown;
  readonly example?: string | readonly string[];
}
interface ResponseObject {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Content;
}
type Content = Readonly<Record<string, { readonly schema: unknown; readonly example?: unknown }>>;
interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
}

/**
 * Renders the OpenAPI document as an HTML page. The page shows each call with its parameters, body, responses,
 * and an example for curl. The page needs no script, and its style is `/assets/reference.css`.
 */
export function apiReference(): string {
  const { info, paths, components } = openApiDocument() as unknown as Document;
  const calls = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
  const areas = Map.groupBy(calls, ({ path }) => areaOf(path));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(info.title)} API reference</title>
<link rel="stylesheet" href="/assets/reference.css">
</head>
<body>
<header>
<h1>${escaped(info.title)} API <small>${escaped(info.version)}</small></h1>
<p>${escaped(info.description)}</p>
<p>In the examples, <code>$URL</code> is the address of this server and <code>$KEY</code> an API key. The key may also be a
bearer token, or the password of basic authentication. Programs read the same facts from
<a href="/openapi.json">/openapi.json</a>.</p>
</header>
<nav aria-label="Calls">
${[...areas].map(([area, found]) => `<details><summary>${escaped(area)}</summary><ul>${found.map(({ method, path, operation }) => `<li><a href="#${operation.operationId}">${method} ${escaped(path)}</a></li>`).join('')}</ul></details>`).join('\n')}
</nav>
<main>
${[...areas].map(([area, found]) => `<h2>${escaped(area)}</h2>\n${found.map(({ method, path, operation }) => callOf(method, path, operation, components.responses)).join('\n')}`).join('\n')}
<h2>Schemas</h2>
${Object.entries(components.schemas)
  .map(
    ([name, schema]) =>
      `<section id="schema-${escaped(name)}"><h3>${escaped(name)}</h3>${schemaOf(schema)}</section>`,
  )
  .join('\n')}
</main>
</body>
</html>
`;
}

/** Returns the section of the page to which a path belongs: `/api/v0/hosts/{hostId}` gives `hosts`. */
function areaOf(path: string): string {
  return path.replace(/^\/api\/v\d+\//, '/').split(/[/.]/)[1]!;
}

function callOf(
  method: string,
  path: string,
  { operationId, summary, security, parameters = [], requestBody, responses }: Operation,
  shared: Document['components']['responses'],
): string {
  const [type, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const entries = Object.entries(responses).map(
    ([status, response]) =>
      [status, response.$ref ? shared[response.$ref.split('/').at(-1)!]! : response] as const,
  );
  return `<section id="${operationId}">
<h3><a href="#${operationId}"><b>${method}</b> ${escaped(path)}</a></h3>
<p>${escaped(summary)}.${security?.length === 0 ? ' Needs no key.' : ''}</p>
${parameters.length === 0 ? '' : parameterTable(parameters)}
${body === undefined ? '' : `<details><summary>Body: ${escaped(type!)}</summary>${schemaOf(body.schema)}</details>`}
${body !== undefined && type !== 'application/json' && body.example === undefined ? '' : `<pre>${escaped(curlOf(method, path, parameters, security?.length !== 0, type, body?.example))}</pre>`}
<ul class="responses">${entries
    .map(([status, { description, content }]) => {
      const schema = content?.['application/json']?.schema;
      const isShown = schema !== undefined && Number(status) < 300;
      return `<li><b>${status}</b> ${escaped(description ?? '')}${isShown ? `<details><summary>Schema</summary>${schemaOf(schema)}</details>` : ''}</li>`;
    })
    .join('')}</ul>
</section>`;
}

function parameterTable(parameters: readonly Parameter[]): string {
  return `<table><thead><tr><th>Parameter</th><th>In</th><th>Value</th><th>Meaning</th></tr></thead><tbody>${parameters
    .map(
      ({ name, in: place, required, description, schema }) =>
        `<tr><td><code>${escaped(name)}</code>${required ? '' : ' (optional)'}</td><td>${place}</td><td><code>${escaped(JSON.stringify(schema))}</code></td><td>${escaped(description ?? '')}</td></tr>`,
    )
    .join('')}</tbody></table>`;
}

/** Formats a call as a shell command. */
function curlOf(
  method: string,
  path: string,
  parameters: readonly Parameter[],
  needsKey: boolean,
  type: string | undefined,
  body: unknown,
): string {
  const inPath = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(parameters.find((parameter) => parameter.name === name)?.example)),
  );
  const inQuery = parameters
    .filter(({ in: place, example }) => place === 'query' && example !== undefined)
    .flatMap(({ name, example }) =>
      [example!].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
    )
    .join('&');
  const data = typeof body === 'string' ? body : JSON.stringify(body, null, 1);
  return [
    `curl${method === 'GET' ? '' : ` -X ${method}`} "$URL${inPath}${inQuery && `?${inQuery}`}"`,
    ...(needsKey ? ['-H "X-Api-Key: $KEY"'] : []),
    ...(body === undefined
      ? []
      : type === 'application/x-www-form-urlencoded' && typeof body === 'object'
        ? Object.entries(body as object).map(
            ([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`,
          )
        : [`-H 'Content-Type: ${type}'`, `--data-binary ${quoted(data)}`]),
  ].join(' \\\n  ');
}

/** Quotes text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Formats a JSON schema. Its references become links. */
function schemaOf(schema: unknown): string {
  const text = escaped(JSON.stringify(schema, null, 1));
  return `<pre>${text.replaceAll(/#\/components\/schemas\/(\w+)/g, '<a href="#schema-$1">$1</a>')}</pre>`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
