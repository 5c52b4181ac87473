import { MAX_CALL_MS } from '../../shared/platform/call-time';
import { ENV } from '../../shared/platform/names';
import { synthesize } from './synthesize';

describe('the timeout of a function in the VPC', () => {
  const { stateless } = synthesize({ stage: 'production' });
  const inVpc = stateless
    .properties('AWS::Lambda::Function')
    .filter(({ Environment }) => Environment?.Variables?.[ENV.redis] !== undefined);

  test.each(inVpc.map((fn) => [String(fn.FunctionName), Number(fn.Timeout) * 1000]))(
    'of %s leaves room for two calls of a hot tier that does not answer, and for saying so',
    (_, timeoutMs) => {
      expect(timeoutMs).toBeGreaterThan(2 * MAX_CALL_MS);
    },
  );

  test('is looked at', () => expect(inVpc.length).toBeGreaterThanOrEqual(5));
});
