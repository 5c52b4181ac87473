import { refusal } from '../../../scripts/local/operator-secret';

const SECRET = 'the-secret_of-the-stack';
const bearer = { authorization: `Bearer ${SECRET}` };
const signed = {
  authorization: `AWS4-HMAC-SHA256 Credential=${SECRET}/20261122/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0`,
};

describe('endpoints that are not the public API are', () => {
  test.each([
    { name: 'open to who has the secret', headers: { host: '127.0.0.1:8080', ...bearer } },
    { name: 'open to an AWS client that has the secret', headers: { host: 'localhost:8080', ...signed } },
    { name: 'open over IPv6', headers: { host: '[::1]:8080', ...signed } },
    {
      name: 'closed without a secret',
      headers: { host: 'localhost:8080' },
      because: /lacks the stack's secret/,
    },
    {
      name: 'closed to another secret',
      headers: { host: 'localhost:8080', authorization: 'Bearer the-secret' },
      because: /lacks the stack's secret/,
    },
    {
      name: 'closed to another form of authorization',
      headers: { host: 'localhost:8080', authorization: SECRET },
      because: /lacks the stack's secret/,
    },
    {
      name: 'closed to a web page, whatever it knows',
      headers: { host: 'localhost:8080', origin: 'http://evil.example', ...bearer },
      because: /Origin/,
    },
    {
      name: 'closed to a sandboxed page',
      headers: { host: 'localhost:8080', origin: 'null', ...bearer },
      because: /Origin/,
    },
    {
      name: 'closed to a page whose own name resolves to this machine',
      headers: { host: 'evil.example:8080', ...bearer },
      because: /Host/,
    },
    {
      name: 'closed to a name that only begins as this machine',
      headers: { host: 'localhost.evil.example:8080', ...bearer },
      because: /Host/,
    },
    { name: 'closed without a host', headers: bearer, because: /Host/ },
  ])('$name', ({ headers, because }) => {
    if (because === undefined) expect(refusal(headers, SECRET)).toBeUndefined();
    else expect(refusal(headers, SECRET)).toMatch(because);
  });
});
