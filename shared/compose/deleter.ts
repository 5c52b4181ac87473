import { KinesisClient } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { Catalogue } from '../catalogue/catalogue';
import { FORMATS } from '../model/formats';
import { formatToWrite, metaTable, settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { Tenants } from '../tenancy/tenants';

/** The adapters of the deleter, from its environment. */
export function deleterDependencies() {
  const { retention, recordFormat } = settings();
  const table = metaTable();
  return {
    tenants: new Tenants(table),
    catalogue: new Catalogue(table, retention),
    kinesis: new KinesisClient({ maxAttempts: 3, requestHandler: new NodeHttpHandler() }),
    stream: variable(ENV.stream),
    recordFormat: formatToWrite(FORMATS.record.writes, recordFormat),
  };
}
