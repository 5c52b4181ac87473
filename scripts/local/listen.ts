import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Problem } from './problem';

/**
 * Makes a server that keeps idle connections open as long as a load balancer does, which is longer than clients keep
 * them.
 */
export function httpServer(handle: RequestListener): Server {
  const http = createServer(handle);
  http.keepAliveTimeout = 75_000;
  return http;
}

/**
 * Listens on the loopback interface.
 *
 * @param port 0 for a free port
 * @returns the port
 * @throws {Problem} if the port is taken
 */
export function listen(http: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Problem(`port ${port} is in use: stop the process that uses it, or give another --port`)
          : error,
      ),
    );
    http.listen(port, '127.0.0.1', () => resolve((http.address() as AddressInfo).port));
  });
}

export function closeHttp(http: Server): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}
