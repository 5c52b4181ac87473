import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forward } from '../../../scripts/local/forward';

test('a connection that is reset within an answer fails the request, not the process', async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-length': '100' });
    response.write('part', () => setImmediate(() => response.socket!.resetAndDestroy()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const request = { method: 'GET', path: '/', headers: {}, body: Buffer.alloc(0) };
  const agent = new Agent({ keepAlive: true });
  await expect(forward(request, new URL(`http://127.0.0.1:${port}`), agent)).rejects.toThrow();
  agent.destroy();
  server.close();
  await once(server, 'close');
});
