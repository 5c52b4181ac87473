/**
 * Computes the used share of a node's memory, 0 to 1, from the node's reply to `INFO memory`. Returns 0 if the node has
 * no limit (`maxmemory`) or did not answer ('').
 */
export function fullnessOf(info: string): number {
  const maxBytes = numberOf(info, 'maxmemory');
  return maxBytes === 0 ? 0 : numberOf(info, 'used_memory') / maxBytes;
}

function numberOf(info: string, field: string): number {
  return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}
