import type { RuleTestFailure, RuleTestFileResult } from './run-tests';

/** Formats the results of rule tests as JUnit XML, with a suite per file and a case per test. */
export function junitXml(results: readonly RuleTestFileResult[]): string {
  const suites = results.map(({ file, errors, tests }) => {
    const cases = [
      ...errors.map((error) => caseXml(file, [error])),
      ...tests.map(({ name, failures }, i) => caseXml(name || `unnamed#${i}`, failures.map(failureText))),
    ];
    const failed = errors.length + tests.filter(({ failures }) => failures.length > 0).length;
    return `  <testsuite name="${escaped(file)}" tests="${cases.length}" failures="${failed}">\n${cases.join('')}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('')}</testsuites>\n`;
}

function caseXml(name: string, failures: readonly string[]): string {
  const body = failures.map((failure) => `      <failure>${escaped(failure)}</failure>\n`).join('');
  return body === ''
    ? `    <testcase name="${escaped(name)}"/>\n`
    : `    <testcase name="${escaped(name)}">\n${body}    </testcase>\n`;
}

function failureText({ what, expected, got }: RuleTestFailure): string {
  return expected === undefined ? what : `${what}\nexp: ${expected.join(', ')}\ngot: ${got!.join(', ')}`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Escapes text for XML. Characters that XML does not allow are replaced. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[&<>"]/g, (c) => ENTITIES[c]!)
    .replace(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD');
}
