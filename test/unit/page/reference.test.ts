import { apiReference } from '../../../infra/api-reference';
import { EXAMPLES } from '../../../shared/http/examples';
import { openApiDocument } from '../../../shared/http/openapi';
import { parse, parseQuery } from '../../../shared/http/parse';
import { ROUTES, type Route, type RouteKey } from '../../../shared/http/routes';
import { RELEASE } from '../../../shared/platform/names';

const page = apiReference();
const routes = ROUTES as readonly Route[];

describe('the API reference', () => {
  test('shows the release and a section for each call of the OpenAPI document', () => {
    expect(page).toContain(`<small>${RELEASE}</small>`);
    const { paths } = openApiDocument() as { paths: Record<string, Record<string, { operationId: string }>> };
    const ids = Object.values(paths).flatMap((operations) =>
      Object.values(operations).map(({ operationId }) => operationId),
    );
    expect(ids.length).toBeGreaterThan(130);
    expect(ids.filter((id) => !page.includes(`<section id="${id}">`))).toEqual([]);
  });

  test('shows a call as a command for a shell', () => {
    const command = page.match(
      /<pre>(curl -X POST &quot;\$URL\/api\/v0\/services&quot;[\s\S]*?)<\/pre>/,
    )?.[1];
    expect(command?.replaceAll('&quot;', '"')).toBe(
      [
        'curl -X POST "$URL/api/v0/services" \\',
        '  -H "X-Api-Key: $KEY" \\',
        "  -H 'Content-Type: application/json' \\",
        `  --data-binary '{\n "name": "shop",\n "memo": "The web shop"\n}'`,
      ].join('\n'),
    );
  });

  test('has whole sentences: none contains the text of a missing or wrong value', () => {
    expect(page.match(/.{0,40}(NaN[a-z]|undefined|\[object Object\]).{0,40}/g)).toBeNull();
  });

  test('links only to parts of itself and to the OpenAPI document, and has no script', () => {
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, link]) => link!);
    const outside = links.filter((link) => !link.startsWith('#'));
    expect(outside).toEqual(['/assets/reference.css', '/openapi.json']);
    expect(links.filter((link) => link.startsWith('#') && !page.includes(`id="${link.slice(1)}"`))).toEqual(
      [],
    );
    expect(page).not.toMatch(/<script|style=/);
  });
});

describe('the examples of calls', () => {
  const keyOf = ({ method, path }: Route) => `${method} ${path}` as RouteKey;
  const withBody = routes.filter((route) => route.body && EXAMPLES[keyOf(route)]?.body !== undefined);
  const withQuery = routes.filter((route) => route.query && EXAMPLES[keyOf(route)]?.query);

  test.each(withBody.map((route) => [keyOf(route), route] as const))(
    'the body of %s is valid',
    (key, { body }) => {
      expect(() => parse(body!, EXAMPLES[key]!.body)).not.toThrow();
    },
  );

  test.each(withQuery.map((route) => [keyOf(route), route] as const))(
    'the query string of %s is valid and has only known parameters',
    (key, { query }) => {
      const example = Object.entries(EXAMPLES[key]!.query!);
      const search = new URLSearchParams(
        example.flatMap(([name, value]) =>
          [value].flat().map((each): [string, string] => [name, each as string]),
        ),
      );
      expect(() => parseQuery(query!, search)).not.toThrow();
      expect(example.map(([name]) => name).filter((name) => !(name in query!.shape))).toEqual([]);
    },
  );

  test('leave out no call that needs a body or a parameter', () => {
    const missing = routes
      .filter(
        (route) =>
          (route.body && !route.body.safeParse(undefined).success && !EXAMPLES[keyOf(route)]?.body) ||
          (route.query && !route.query.safeParse({}).success && !EXAMPLES[keyOf(route)] && !route.isForm),
      )
      .map(keyOf);
    expect(missing).toEqual([]);
  });
});
