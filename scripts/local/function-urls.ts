import type { InvocationResult } from './function-pool';
import { handleRequest, sendJson } from './http-api';
import { closeHttp, httpServer, listen } from './listen';
import type { FunctionUrlResource } from './template';

interface FunctionUrls {
  /** URLs by function name. */
  readonly urls: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

/**
 * Serves the URL of each function that has one, on a free port. Every request goes to the function; there are no
 * routes.
 */
export async function serveFunctionUrls(
  resources: readonly FunctionUrlResource[],
  invoke: (functionName: string, event: unknown) => Promise<InvocationResult>,
  report: (line: string) => void,
): Promise<FunctionUrls> {
  const served = await Promise.all(
    resources.map(async ({ functionName }) => {
      const routes = [{ routeKey: '$default', functionName }];
      const http = httpServer(
        (request, response) =>
          void handleRequest(request, response, routes, invoke).catch((error: Error) => {
            report(`request: ${error.message}`);
            if (response.headersSent) response.destroy();
            else sendJson(response, 502, { message: 'Bad Gateway' });
          }),
      );
      return { functionName, http, port: await listen(http, 0) };
    }),
  );
  return {
    urls: new Map(served.map(({ functionName, port }) => [functionName, `http://127.0.0.1:${port}`])),
    close: async () => {
      await Promise.all(served.map(({ http }) => closeHttp(http)));
    },
  };
}
