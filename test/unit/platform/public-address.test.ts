import { isPublicAddress, publicLookup, requirePublicHost } from '../../../shared/platform/public-address';

test.each([
  '127.0.0.1',
  '127.255.0.1',
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::a00:1',
  '2002:7f00:1::',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'localhost',
  '',
])('%s is not an address of the public internet', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '169.253.0.1', '2606:4700::1111', '2a00:1450::1'])(
  '%s is an address of the public internet',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

test.each([
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://127.1:9093/x',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[fd00:ec2::254]/latest/meta-data',
  'http://169.254.169.254/latest/meta-data',
])('%s is refused, however its address is written', (url) => {
  expect(() => requirePublicHost(new URL(url))).toThrow('is not an address of the public internet');
});

test('a public address is let through; a name is checked when it is resolved', () => {
  expect(() => requirePublicHost(new URL('https://8.8.8.8/'))).not.toThrow();
  expect(() => requirePublicHost(new URL('https://localhost/'))).not.toThrow();
});

test.each([{ all: true }, { all: false }])(
  'a name that resolves to this machine is refused (%j)',
  async (options) => {
    const error = await new Promise((resolve) => publicLookup('localhost', options, resolve));
    expect(String(error)).toContain('localhost is not at an address of the public internet');
  },
);
