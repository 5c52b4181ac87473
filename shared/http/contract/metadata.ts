import * as z from 'zod';
import { HOST, ROLE, type Route, SERVICE } from './route';
import { success } from './values';

const namespaceList = z.object({ metadata: z.array(z.object({ namespace: z.string() })) });

/** Metadata may be any JSON, which the handler stores byte for byte. */
const metadata = z.unknown();

export const metadataRoutes = [
  ...routesOf(HOST, 'a host'),
  ...routesOf(SERVICE, 'a service'),
  ...routesOf(ROLE, 'a role'),
] as const satisfies readonly Route[];

function routesOf<const Owner extends string>(owner: Owner, ownerText: string) {
  const list = `${owner}/metadata` as const;
  const entry = `${list}/{namespace}` as const;
  return [
    {
      method: 'GET',
      path: list,
      right: 'read',
      function: 'registry',
      summary: `List the metadata of ${ownerText}`,
      response: namespaceList,
    },
    {
      method: 'GET',
      path: entry,
      right: 'read',
      function: 'registry',
      summary: `Read metadata of ${ownerText}`,
      response: metadata,
    },
    {
      method: 'PUT',
      path: entry,
      right: 'write',
      function: 'registry',
      summary: `Put metadata of ${ownerText}`,
      body: metadata,
      response: success,
    },
    {
      method: 'DELETE',
      path: entry,
      right: 'write',
      function: 'registry',
      summary: `Delete metadata of ${ownerText}`,
      response: success,
    },
  ] as const;
}
