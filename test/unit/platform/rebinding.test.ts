import dns from 'node:dns';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { postOutside } from '../../../shared/alerting/delivery/post-outside';
import { publicLookup } from '../../../shared/platform/public-address';

jest.mock('node:dns', () => ({ ...jest.requireActual('node:dns'), lookup: jest.fn() }));

type LookupCallback = (error: null, addresses: { address: string; family: number }[]) => void;

/** Makes the name server return these answers, one after the other. */
function resolving(...responses: readonly (readonly string[])[]): jest.Mock {
  const lookup = dns.lookup as unknown as jest.Mock;
  lookup.mockReset();
  for (const addresses of responses)
    lookup.mockImplementationOnce((_: string, __: object, callback: LookupCallback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    );
  return lookup;
}

const found = (all: boolean) =>
  new Promise<unknown>((resolve) =>
    publicLookup('rebinding.example', { all }, (error, address) => resolve(error ?? address)),
  );

test('a connection goes to the address that was checked: the name is resolved once', async () => {
  const lookup = resolving(['8.8.8.8'], ['127.0.0.1']);
  expect(await found(false)).toBe('8.8.8.8');
  expect(lookup).toHaveBeenCalledTimes(1);
  // The next request checks again.
  expect(String(await found(false))).toContain('is not at an address of the public internet');
});

test.each([
  [['8.8.8.8', '10.0.0.1']],
  [['2606:4700::1111', '::1']],
  [['8.8.8.8', '::ffff:169.254.169.254']],
  [[]],
])('a name with the addresses %j is refused as a whole', async (addresses) => {
  resolving(addresses);
  expect(String(await found(true))).toContain('is not at an address of the public internet');
});

test('a request to a name that has become private does not reach the server there', async () => {
  let connections = 0;
  const server = createServer().on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const lookup = resolving(['127.0.0.1'], ['127.0.0.1']);
    const post = () => postOutside({ url: `https://rebinding.example:${port}/`, json: '{}' }, false);
    await expect(post()).rejects.toThrow('rebinding.example is not at an address of the public internet');
    expect(lookup).toHaveBeenCalledTimes(1);
    expect(connections).toBe(0);
  } finally {
    server.close();
  }
});
