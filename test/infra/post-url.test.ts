import { functionName } from '../../shared/platform/names';
import { synthesize } from './synthesize';

const { stateless: withUrl } = synthesize({
  stage: 'production',
  postEndpoint: 'url',
  postConcurrency: '120',
});
const { stateless: without } = synthesize({ stage: 'production' });

const post = (stack: typeof withUrl) =>
  Object.entries(stack.all('AWS::Lambda::Function')).find(
    ([, { Properties }]) => Properties.FunctionName === functionName('production', 'post'),
  )!;

describe('with postEndpoint=url', () => {
  const [id, { Properties: properties }] = post(withUrl);

  test('the post function alone has a URL, which anybody may call: post checks the key', () => {
    expect(withUrl.only('AWS::Lambda::Url')).toEqual({
      AuthType: 'NONE',
      TargetFunctionArn: { 'Fn::GetAtt': [id, 'Arn'] },
    });
    // Lambda requires both actions. https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html
    const forAnybody = withUrl
      .properties('AWS::Lambda::Permission')
      .filter(({ Principal }) => Principal === '*');
    expect(forAnybody.map(({ FunctionName }) => FunctionName)).toEqual([
      { 'Fn::GetAtt': [id, 'Arn'] },
      { 'Fn::GetAtt': [id, 'Arn'] },
    ]);
    expect(forAnybody).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ Action: 'lambda:InvokeFunctionUrl', FunctionUrlAuthType: 'NONE' }),
        expect.objectContaining({ Action: 'lambda:InvokeFunction', InvokedViaFunctionUrl: true }),
      ]),
    );
  });

  test('postConcurrency bounds its requests, and it knows the API to which it redirects', () => {
    expect(properties.ReservedConcurrentExecutions).toBe(120);
    expect(JSON.stringify(properties.Environment.Variables.API_URL)).toContain('execute-api');
  });

  test('an alarm looks at the share of requests that fail', () => {
    const [alarm] = withUrl
      .properties('AWS::CloudWatch::Alarm')
      .filter(({ AlarmName }) => AlarmName === 'heterotsdb-production-post-url-errors');
    expect(
      alarm!.Metrics.map(
        (each: { MetricStat?: { Metric: { MetricName: string } } }) => each.MetricStat?.Metric.MetricName,
      ),
    ).toEqual([undefined, 'Url5xxCount', 'UrlRequestCount']);
  });
});

test('by default no function has a URL', () => {
  expect(without.all('AWS::Lambda::Url')).toEqual({});
  const [, { Properties: properties }] = post(without);
  expect(properties.ReservedConcurrentExecutions).toBeUndefined();
  expect(properties.Environment.Variables).not.toHaveProperty('API_URL');
});
