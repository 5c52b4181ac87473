// One instance of a function, in a process of its own that can be killed as Lambda's instances can. It loads the bundle
// that would be deployed, and handles one invocation at a time. This is plain JavaScript, so that it starts in tens of
// ms.
import { createRequire, enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';

const [codeDir, handlerName] = process.argv.slice(2);
const [file, name] = handlerName.split('.');

// Ctrl-C reaches the whole process group; the host decides when an instance ends.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit(0));

// Tests can set a clock error. The function then sees the wrong time, but its deadline is measured correctly.
const now = Date.now;
const skewMs = Number(process.env.LOCAL_CLOCK_SKEW_MS ?? 0);
if (skewMs !== 0) {
  const skewedNow = () => now() + skewMs;
  globalThis.Date = new Proxy(Date, {
    construct: (target, given) => (given.length === 0 ? new target(skewedNow()) : new target(...given)),
    get: (target, key) => (key === 'now' ? skewedNow : target[key]),
  });
}

// Instances share the compiled code of a bundle. The first instance writes it right after compiling, because it may be
// killed at any time.
enableCompileCache(join(codeDir, '..', '..', 'compiled'));
const handler = createRequire(import.meta.url)(join(codeDir, file))[name];
flushCompileCache();

process.on('message', async ({ id, event, deadlineMs, functionName }) => {
  const context = {
    functionName,
    awsRequestId: id,
    invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${functionName}`,
    functionVersion: '$LATEST',
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: String(process.pid),
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, deadlineMs - now()),
  };
  try {
    process.send({ id, result: await handler(event, context) });
  } catch (error) {
    console.error(error);
    process.send({
      id,
      error: { errorType: error?.name ?? 'Error', errorMessage: String(error?.message ?? error) },
    });
  }
});
