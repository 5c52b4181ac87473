import fc from 'fast-check';

const [SURROGATES, SURROGATE_COUNT, LAST] = [0xd800, 0x800, 0x10ffff];

/**
 * Any Unicode character. fast-check's own unit `binary` generates the same characters, but first builds a table of a
 * million entries.
 */
export const anyCharacter = fc.nat({ max: LAST - SURROGATE_COUNT }).map(
  (i) => String.fromCodePoint(i < SURROGATES ? i : i + SURROGATE_COUNT),
  (character) => {
    const point = typeof character === 'string' ? character.codePointAt(0) : undefined;
    if (point === undefined || String.fromCodePoint(point) !== character)
      throw new Error('not one character');
    return point < SURROGATES ? point : point - SURROGATE_COUNT;
  },
);
