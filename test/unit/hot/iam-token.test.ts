import { SignatureV4 } from '@smithy/signature-v4';
import { iamToken } from '../../../shared/hot/iam-token';
import { Sha256 } from '../../support/sha256';

describe('the IAM token of the hot tier', () => {
  test.each([
    { name: 'of a role, with a session token', sessionToken: 'FwoGZXIvYXdzE+/=token' },
    { name: 'of long-term keys', sessionToken: undefined },
  ])('$name is the one the SDK would sign', async ({ sessionToken }) => {
    const credentials = {
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG',
      sessionToken,
    };
    const now = new Date('2026-11-21T08:15:30.123Z');
    const signer = new SignatureV4({
      service: 'elasticache',
      region: 'eu-west-1',
      credentials,
      sha256: Sha256 as never,
    });
    const { query } = await signer.presign(
      {
        method: 'GET',
        protocol: 'https:',
        hostname: 'metrics-hot',
        path: '/',
        headers: { host: 'metrics-hot' },
        query: { Action: 'connect', User: 'metrics user' },
      },
      { expiresIn: 900, signingDate: now },
    );
    const target = { replicationGroupId: 'Metrics-Hot', user: 'metrics user', region: 'eu-west-1' };
    const token = new URL(`http://${iamToken(target, credentials, now)}`);
    expect(token.host).toBe('metrics-hot');
    expect(Object.fromEntries(token.searchParams)).toEqual(query);
  });
});
