import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { withoutBody } from '../../shared/http/http';
import { serveFile } from './serve';

/** Folder of the page's files, deployed with the bundle. infra/browser-bundle.ts fills it. */
const FOLDER = join(__dirname, 'assets');

const files = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name))]));

export const handler = async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
  const response = serveFile(files, event);
  return event.routeKey.startsWith('HEAD ') ? withoutBody(response) : response;
};
