import fc from 'fast-check';
import { commandWords, valueEnd } from '../../../scripts/faults/resp';

describe('the end of a value', () => {
  test.each([
    { name: 'a simple string', text: '+OK\r\n' },
    { name: 'an error', text: '-NOSCRIPT No matching script\r\n' },
    { name: 'a number', text: ':12\r\n' },
    { name: 'nothing, as a string', text: '$-1\r\n' },
    { name: 'a string with line ends in it', text: '$4\r\n\r\n\r\n\r\n' },
    { name: 'an array of everything', text: '*3\r\n$1\r\na\r\n*1\r\n:1\r\n_\r\n' },
    { name: 'a map', text: '%1\r\n$1\r\na\r\n*0\r\n' },
    { name: 'a value with attributes', text: '|1\r\n+a\r\n+b\r\n:1\r\n' },
  ])('$name', ({ text }) => {
    const bytes = Buffer.from(`${text}+next\r\n`);
    expect(valueEnd(bytes, 0)).toBe(text.length);
    for (let cut = 0; cut < text.length; cut++) expect(valueEnd(bytes.subarray(0, cut), 0)).toBeUndefined();
  });

  test('is found in any command of binary words, and the words are read back', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array(), { minLength: 1 }), (words) => {
        const command = Buffer.concat([
          Buffer.from(`*${words.length}\r\n`),
          ...words.flatMap((word) => [Buffer.from(`$${word.length}\r\n`), word, Buffer.from('\r\n')]),
        ]);
        expect(valueEnd(command, 0)).toBe(command.length);
        expect(commandWords(command, words.length).map((word) => [...word])).toEqual(
          words.map((word) => [...word]),
        );
      }),
    );
  });
});
