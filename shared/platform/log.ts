import { Logger } from '@aws-lambda-powertools/logger';

/** Writes log lines as JSON. Never log a key, a body or a value that a client has sent. */
export const log = new Logger({ serviceName: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'heterotsdb' });
