import { connectHot } from '../../../shared/hot/connection';

const environment = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' };

describe('a connection to the hot tier with IAM', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  test.each([
    { name: 'of a single node', url: 'redis://user@127.0.0.1:1?iam=group', options: 'options' },
    { name: 'of a cluster', url: 'redis://user@127.0.0.1:1?cluster=true&iam=group', options: 'redisOptions' },
  ])('$name asks for a new token for each new connection', ({ url, options }) => {
    const client = connectHot(url, environment);
    client.disconnect();
    const seen =
      options === 'options' ? client.options : (client.options as { redisOptions: object }).redisOptions;
    jest.useFakeTimers({ now: new Date('2026-11-21T08:00:00Z') });
    const first = (seen as { password: string }).password;
    expect(first).toContain('X-Amz-Date=20261121T080000Z');
    jest.setSystemTime(new Date('2026-11-21T08:16:00Z'));
    expect((seen as { password: string }).password).toContain('X-Amz-Date=20261121T081600Z');
  });
});
