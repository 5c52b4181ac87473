import { keyOf } from '../../../shared/http/credentials';

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

describe('an API key', () => {
  test.each<{ name: string; headers?: Record<string, string>; url?: string; key: string | undefined }>([
    { name: 'as X-Api-Key', headers: { 'x-api-key': 'k' }, key: 'k' },
    { name: 'as Authorization: Bearer', headers: { authorization: 'Bearer k' }, key: 'k' },
    { name: 'as Authorization: Token', headers: { authorization: 'Token k' }, key: 'k' },
    { name: 'with the scheme in lower case', headers: { authorization: 'bearer k' }, key: 'k' },
    { name: 'as the password of Basic', headers: basic('telegraf:k'), key: 'k' },
    { name: 'as the password of nobody', headers: basic(':k'), key: 'k' },
    { name: 'as a password with colons', headers: basic('u:k:1'), key: 'k:1' },
    { name: 'in the address of /write', url: '/write?u=x&p=k&db=d', key: 'k' },
    { name: 'in the address of /query', url: '/query?p=k', key: 'k' },
    {
      name: 'twice: X-Api-Key wins',
      headers: { 'x-api-key': 'k', authorization: 'Bearer other' },
      key: 'k',
    },
    { name: 'twice: the header wins', headers: basic('u:k'), url: '/write?p=other', key: 'k' },
  ])('$name is found', ({ headers = {}, url = '/api/v0/hosts', key }) => {
    const [rawPath, rawQueryString = ''] = url.split('?') as [string, string?];
    expect(keyOf({ headers, rawPath, rawQueryString })).toBe(key);
  });

  test.each<{ name: string; headers?: Record<string, string>; url?: string }>([
    { name: 'nothing' },
    { name: 'another scheme', headers: { authorization: 'Digest k' } },
    { name: 'a scheme alone', headers: { authorization: 'Bearer' } },
    { name: 'Basic without a colon', headers: basic('k') },
    { name: "Mackerel's paths with p=", url: '/api/v0/tsdb?p=k' },
    { name: "InfluxDB 2's path with p=", url: '/api/v2/write?p=k' },
  ])('is not found in $name', ({ headers = {}, url = '/api/v0/hosts' }) => {
    const [rawPath, rawQueryString = ''] = url.split('?') as [string, string?];
    expect(keyOf({ headers, rawPath, rawQueryString })).toBeUndefined();
  });
});
