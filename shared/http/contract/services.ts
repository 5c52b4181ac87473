import * as z from 'zod';
import { SERVICE_NAME } from '../../registry/services';
import { text } from './values';

export const serviceName = z.string().regex(SERVICE_NAME, `expected a name like ${SERVICE_NAME.source}`);

const memo = text(0, 250);

/** Also for a role. */
export const newService = z.object({ name: serviceName, memo: memo.nullish() });

export const service = z
  .object({ name: z.string(), memo: z.string(), roles: z.array(z.string()).meta({ description: 'Sorted.' }) })
  .meta({ id: 'Service' });

export const role = z.object({ name: z.string(), memo: z.string() }).meta({ id: 'Role' });

export const serviceList = z.object({ services: z.array(service) });
export const roleList = z.object({ roles: z.array(role) });

export const organization = z
  .object({ name: z.string(), displayName: z.string().nullable() })
  .meta({ id: 'Organization' });

export const namespaceList = z.object({ metadata: z.array(z.object({ namespace: z.string() })) });

/** Kept byte for byte, so it is only held to be JSON. */
export const metadata = z.unknown();
