/** Decodes Prometheus' XOR chunk bit by bit, following the description of its format. */
export function decodeXorChunk(bytes: Uint8Array): { timestamp: number; bits: bigint }[] {
  let at = 0;
  const bit = () => (bytes[at >>> 3]! >>> (7 - (at++ & 7))) & 1;
  const read = (count: number) => {
    let value = 0n;
    for (let i = 0; i < count; i++) value = (value << 1n) | BigInt(bit());
    return value;
  };
  const uvarint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = read(8);
      value |= (byte & 127n) << shift;
      if (byte < 128n) return value;
    }
  };
  const samples: { timestamp: number; bits: bigint }[] = [];
  const count = Number(read(16));
  const zigzag = uvarint();
  let timestamp = Number((zigzag >> 1n) ^ -(zigzag & 1n));
  let value = read(64);
  let delta = 0;
  let leading = 0;
  let trailing = 0;
  for (let i = 0; i < count; i++) {
    if (i === 1) delta = Number(uvarint());
    if (i > 1) {
      let ones = 0;
      while (ones < 4 && bit() === 1) ones++;
      const width = [0, 14, 17, 20, 64][ones]!;
      const raw = read(width);
      const isNegative = width > 0 && raw > 1n << BigInt(width - 1);
      delta += Number(isNegative ? raw - (1n << BigInt(width)) : raw);
    }
    if (i > 0) {
      timestamp += delta;
      if (bit() === 1) {
        if (bit() === 1) {
          leading = Number(read(5));
          trailing = 64 - leading - (Number(read(6)) || 64);
        }
        value ^= read(64 - leading - trailing) << BigInt(trailing);
      }
    }
    samples.push({ timestamp, bits: value });
  }
  return samples;
}
