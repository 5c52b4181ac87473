import type { IncomingMessage, ServerResponse } from 'node:http';
import * as z from 'zod';
import { InvalidSettingError } from '../../shared/platform/settings';
import { readBody, sendJson } from './http-api';
import { Problem } from './problem';

/** Path prefix of endpoints that only the local stack has. They require its secret. */
export const LOCAL_API = '/local/';
/** Endpoint that deploys another build of the functions while the stack runs. */
export const DEPLOY_PATH = `${LOCAL_API}deploy`;

const deploymentSchema = z.strictObject({
  /**
   * Folder of a synthesized cloud assembly, which includes its settings.
   *
   * @default this checkout in its current state
   */
  assembly: z.string().min(1).optional(),
  /** Changes to the settings that the stack was started with. */
  settings: z.record(z.string(), z.string()).default({}),
  /**
   * Kinds of functions, such as `ingester`.
   *
   * @default all
   */
  functions: z.array(z.string()).optional(),
});

export type Deployment = z.output<typeof deploymentSchema>;

/**
 * Answers a deployment request with the names of the deployed functions.
 *
 * @param deploy may throw a {@link Problem} or an {@link InvalidSettingError}; nothing has changed then
 */
export async function handleDeploy(
  request: IncomingMessage,
  response: ServerResponse,
  deploy: (deployment: Deployment) => Promise<readonly string[]>,
): Promise<void> {
  const refuse = (status: number, message: string) => sendJson(response, status, { error: { message } });
  if (request.url !== DEPLOY_PATH) return refuse(404, `the local stack has no ${request.url}`);
  if (request.method !== 'POST') return refuse(405, `use POST ${DEPLOY_PATH}`);
  if (request.headers['content-type'] !== 'application/json')
    return refuse(415, 'the content type is not application/json');
  const body = await readBody(request);
  let input: unknown;
  try {
    input = JSON.parse(body?.toString('utf8') ?? '');
  } catch {
    return refuse(400, 'the body is not JSON');
  }
  const parsed = deploymentSchema.safeParse(input);
  if (!parsed.success) return refuse(400, z.prettifyError(parsed.error));
  try {
    sendJson(response, 200, { functions: await deploy(parsed.data) });
  } catch (error) {
    if (!(error instanceof Problem || error instanceof InvalidSettingError)) throw error;
    refuse(400, error.message);
  }
}
