declare module 'cluster-key-slot' {
  /** The cluster slot of a key, 0 to 16,383: CRC16 of its hash tag. */
  export default function keySlot(key: string): number;
}
