import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendImport } from '../../../scripts/ops/import';
import { DeniedError, Functions, OperatorError } from '../../../scripts/ops/invoke';

test.each(['nonsense', 'localhost:8080', ''])('refuses %j as the address of a stack', (url) => {
  expect(() => new Functions(url)).toThrow(
    `--url ${url} is not an address; give one such as http://127.0.0.1:8080`,
  );
});

describe('a call that AWS refuses', () => {
  const refusal = { type: '', message: '' };
  const lambda = createServer((_, response) => {
    response.writeHead(400, { 'x-amzn-errortype': refusal.type, 'content-type': 'application/json' });
    response.end(JSON.stringify({ message: refusal.message }));
  });
  const environment = { ...process.env };

  beforeAll(async () => {
    await new Promise<void>((resolve) => lambda.listen(0, '127.0.0.1', resolve));
    Object.assign(process.env, {
      AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${(lambda.address() as AddressInfo).port}`,
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
    });
  });
  afterAll(() => {
    process.env = environment;
    lambda.close();
  });

  test.each([
    {
      type: 'AccessDeniedException',
      message: 'User: me is not authorized to perform: lambda:InvokeFunction',
      says: 'AWS (stack heterotsdb-dev) denied the call: use credentials that allow lambda:InvokeFunction on heterotsdb-dev-operator (User: me is not authorized to perform: lambda:InvokeFunction)',
    },
    {
      type: 'ExpiredTokenException',
      message: 'The security token included in the request is expired',
      says: 'no valid credentials for AWS (stack heterotsdb-dev): set AWS_PROFILE, or sign in with aws sso login (The security token included in the request is expired)',
    },
    {
      type: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
      says: 'no valid credentials for AWS (stack heterotsdb-dev): set AWS_PROFILE, or sign in with aws sso login (The security token included in the request is invalid.)',
    },
    {
      type: 'ResourceNotFoundException',
      message: 'Function not found',
      says: "AWS (stack heterotsdb-dev) has no function heterotsdb-dev-operator in eu-west-1: check the stack's name, AWS_REGION and AWS_PROFILE",
    },
    {
      type: 'ServiceException',
      message: 'Try again',
      says: 'no answer from AWS (stack heterotsdb-dev): is it running, and do your credentials allow invoking heterotsdb-dev-operator? (Try again)',
    },
  ])('$type says what to do', async ({ type, message, says }) => {
    Object.assign(refusal, { type, message });
    const functions = new Functions('', 'heterotsdb-dev');
    await expect(functions.invoke('operator', {})).rejects.toThrow(says);
    functions.close();
  });

  test('without credentials, the message says how to sign in', async () => {
    for (const name of Object.keys(process.env))
      if (/^AWS_(ACCESS|SECRET|SESSION|CONTAINER|WEB_IDENTITY)|^AWS_PROFILE$/.test(name))
        delete process.env[name];
    Object.assign(process.env, {
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_CONFIG_FILE: '/dev/null',
      AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    });
    const functions = new Functions('', 'heterotsdb-dev');
    await expect(functions.invoke('operator', {})).rejects.toThrow(
      'no valid credentials for AWS (stack heterotsdb-dev): set AWS_PROFILE, or sign in with aws sso login (Could not load credentials from any providers)',
    );
    functions.close();
  });

  test('the importer is not invoked again after a denial', async () => {
    let calls = 0;
    const invoke = () => {
      calls++;
      return Promise.reject(new DeniedError('denied'));
    };
    await expect(sendImport({ invoke }, { tenant: 't', body: '' })).rejects.toThrow('denied');
    expect(calls).toBe(1);
  });
});

test('a call that AWS never answers fails after 16 minutes, a minute after any function has timed out', async () => {
  const asked = Promise.withResolvers<void>();
  const silent = createServer(() => asked.resolve());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const environment = { ...process.env };
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
  });
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
  const functions = new Functions('', 'heterotsdb-dev');
  try {
    let failure: unknown;
    functions.invoke('operator', {}).catch((error: unknown) => {
      failure = error;
    });
    await asked.promise;
    await jest.advanceTimersByTimeAsync(15 * 60_000);
    expect(failure).toBeUndefined();
    await jest.advanceTimersByTimeAsync(70_000);
    expect(failure).toBeInstanceOf(OperatorError);
    expect((failure as Error).message).toContain('no answer from AWS (stack heterotsdb-dev)');
  } finally {
    jest.useRealTimers();
    functions.close();
    process.env = environment;
    silent.closeAllConnections();
    silent.close();
  }
});
