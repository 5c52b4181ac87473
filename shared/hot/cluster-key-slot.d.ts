declare module 'cluster-key-slot' {
  /** The hash slot of a key in a cluster, 0 to 16,383: CRC16 of its hash tag. */
  export default function keySlot(key: string): number;
}
