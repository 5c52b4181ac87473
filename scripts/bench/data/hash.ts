/** Hashes two integers to 32 bits. */
export function hashOf(a: number, b: number): number {
  let hash = (Math.imul(a | 0, 0x9e3779b1) ^ Math.imul(b | 0, 0x85ebca6b)) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 13), 0x297a2d39) >>> 0;
  return (hash ^ (hash >>> 16)) >>> 0;
}
