/** Events as AWS's documents show them, with a test's own data. */

/**
 * A request through an HTTP API, payload format 2.0.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
export function apiEvent(
  routeKey: string,
  {
    apiKey,
    body,
    path,
    query = {},
  }: { apiKey: string; path?: string; body?: string; query?: Record<string, string> },
) {
  const [method, template] = routeKey.split(' ') as [string, string];
  const rawPath = path ?? template;
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString: new URLSearchParams(query).toString(),
    cookies: ['cookie1', 'cookie2'],
    headers: {
      accept: '*/*',
      'content-length': String(body?.length ?? 0),
      'content-type': 'text/plain; charset=utf-8',
      host: 'abcdefghij.execute-api.us-east-1.amazonaws.com',
      'user-agent': 'agent',
      'x-amzn-trace-id': 'Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700',
      'x-api-key': apiKey,
      'x-forwarded-for': '192.0.2.1',
      'x-forwarded-port': '443',
      'x-forwarded-proto': 'https',
    },
    queryStringParameters: query,
    requestContext: {
      accountId: '123456789012',
      apiId: 'abcdefghij',
      domainName: 'abcdefghij.execute-api.us-east-1.amazonaws.com',
      domainPrefix: 'abcdefghij',
      http: { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'agent' },
      requestId: 'JKJaXmPLvHcESHA=',
      routeKey,
      stage: '$default',
      time: '12/Mar/2020:19:03:58 +0000',
      timeEpoch: 1583348638390,
    },
    // API Gateway encodes bodies that are not text.
    body: body === undefined ? undefined : Buffer.from(body).toString('base64'),
    isBase64Encoded: body !== undefined,
  };
}

/**
 * A batch of a stream.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html
 */
export function kinesisEvent(
  streamArn: string,
  records: readonly {
    readonly shardId: string;
    readonly sequenceNumber: string;
    readonly partitionKey: string;
    readonly data: Uint8Array;
    readonly arrivalMs: number;
  }[],
) {
  return {
    Records: records.map(({ shardId, sequenceNumber, partitionKey, data, arrivalMs }) => ({
      kinesis: {
        kinesisSchemaVersion: '1.0',
        partitionKey,
        sequenceNumber,
        data: Buffer.from(data).toString('base64'),
        approximateArrivalTimestamp: arrivalMs / 1000,
      },
      eventSource: 'aws:kinesis',
      eventVersion: '1.0',
      eventID: `${shardId}:${sequenceNumber}`,
      eventName: 'aws:kinesis:record',
      invokeIdentityArn: 'arn:aws:iam::123456789012:role/lambda-role',
      awsRegion: 'us-east-1',
      eventSourceARN: streamArn,
    })),
  };
}
