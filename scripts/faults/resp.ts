const CRLF = Buffer.from('\r\n');

/**
 * Finds the end of a value in Redis' protocol: a command, or a reply in RESP2 or RESP3.
 *
 * @param start index of the value's first byte
 * @returns the index just past its last byte; undefined if `bytes` ends inside the value
 * @see https://valkey.io/topics/protocol/
 */
export function valueEnd(bytes: Buffer, start: number): number | undefined {
  const line = bytes.indexOf(CRLF, start);
  if (line < 0) return undefined;
  const head = line + 2;
  const type = String.fromCharCode(bytes[start]!);
  if (!'$!=*~>%|'.includes(type)) return head;
  const count = Number(bytes.toString('latin1', start + 1, line));
  if (count < 0) return head;
  if ('$!='.includes(type)) return head + count + 2 <= bytes.length ? head + count + 2 : undefined;
  // Maps and attributes consist of keys and values. An attribute precedes the value to which it belongs.
  const values = type === '%' ? count * 2 : type === '|' ? count * 2 + 1 : count;
  let end: number | undefined = head;
  for (let i = 0; i < values && end !== undefined; i++) end = valueEnd(bytes, end);
  return end;
}

/** Returns up to `most` words of a command; none if it is not an array of strings. */
export function commandWords(command: Buffer, most: number): Buffer[] {
  const words: Buffer[] = [];
  let at = command.indexOf(CRLF) + 2;
  while (words.length < most && command[at] === 0x24) {
    const line = command.indexOf(CRLF, at);
    const length = Number(command.toString('latin1', at + 1, line));
    words.push(command.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
  return words;
}
