import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * Addresses that are not on the public internet: this machine, private and link-local networks, metadata services and
 * test networks. IPv4 and IPv6 have separate lists, because a BlockList also looks up an IPv4 address in its IPv6 form,
 * and the range `::ffff:0:0/96` would match every IPv4 address.
 */
const SPECIAL = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  SPECIAL.ipv4.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  // The first ranges are loopback, the unspecified address, and all forms of IPv4 addresses in IPv6.
  ['::', 96],
  ['::ffff:0:0', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 32],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const)
  SPECIAL.ipv6.addSubnet(network, prefix, 'ipv6');

/**
 * Whether an IP address is on the public internet.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry/ and iana-ipv6-special-registry
 */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  return !SPECIAL[family].check(address, family);
}

/** Throws if the host of a URL is an IP address that is not public. {@link publicLookup} checks host names. */
export function requirePublicHost({ hostname }: URL): void {
  // The URL parser has already converted decimal, octal and hexadecimal forms of addresses to the usual form.
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !isPublicAddress(host))
    throw new Error(`${host} is not an address of the public internet`);
}

/**
 * Resolves a host name for a connection, and fails unless all of its addresses are public. The connection uses a
 * checked address, so a DNS record that changes after the check cannot bypass it.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, '', 0);
    const hidden = addresses.find(({ address }) => !isPublicAddress(address));
    if (hidden !== undefined || addresses.length === 0)
      return callback(new Error(`${hostname} is not at an address of the public internet`), '', 0);
    if (options.all) return callback(null, addresses as never, 0);
    callback(null, addresses[0]!.address, addresses[0]!.family);
  });
};
