import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from '../../../scripts/local/server-process';

test('a free port is given once, is below the ports that the system gives, and is not in use', async () => {
  const first = await freePort();
  const server = createServer().listen(first + 1, '127.0.0.1');
  await once(server, 'listening');
  try {
    const second = await freePort();
    expect([first, first + 1]).not.toContain(second);
    for (const port of [first, second]) expect(port).toBeLessThan(32_768);
  } finally {
    server.close();
  }
});
