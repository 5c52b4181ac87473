import { Logger } from '@aws-lambda-powertools/logger';

/** Structured JSON logs. Never log a key, a body or a value that a client sent. */
export const log = new Logger({ serviceName: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'heterotsdb' });
