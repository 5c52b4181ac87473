import fc from 'fast-check';
import { masked, unmasked } from '../../../../shared/alerting/delivery/masked-receivers';
import { NO_RECEIVERS, type Receivers } from '../../../../shared/alerting/delivery/receivers';

const url = fc.constantFrom('https://a.example', 'https://a.example/hook', 'https://b.example/hook');
const secret = fc.constantFrom('Bearer secret-1', 'Bearer secret-2');
const receiver = fc.record({ url, authorization: secret }, { requiredKeys: ['url'] });
const distinct = { selector: (each: { readonly url: string }) => each.url };
const slack = fc
  .constantFrom('secret-T1/B1/X123', 'secret-T1/B1/X124', 'secret-T2/B2/X999')
  .map((path) => ({ url: `https://hooks.slack.com/services/${path}` }));
const receivers: fc.Arbitrary<Receivers> = fc.record({
  alertmanagers: fc.uniqueArray(receiver, distinct),
  webhooks: fc.uniqueArray(receiver, distinct),
  slack: fc.uniqueArray(slack, distinct),
  topics: fc.constant([{ topicArn: 'arn:aws:sns:us-east-1:1:alerts' }]),
});

describe('receivers', () => {
  test('are shown without any secret', () => {
    void fc.assert(
      fc.property(receivers, (stored) => expect(JSON.stringify(masked(stored))).not.toContain('secret')),
    );
  });

  test('that a client sends back as they were shown keep their secrets', () => {
    void fc.assert(
      fc.property(receivers, (stored) => expect(unmasked(masked(stored), stored)).toEqual(stored)),
    );
  });

  test('never get the secret of another URL', () => {
    void fc.assert(
      fc.property(receivers, receivers, (shown, stored) => {
        const sent = { ...masked(shown), slack: [] };
        for (const kind of ['alertmanagers', 'webhooks'] as const)
          for (const { url: to, authorization } of unmasked(sent, stored)[kind])
            if (authorization !== undefined) expect(stored[kind]).toContainEqual({ url: to, authorization });
      }),
    );
  });

  test('with a new secret replace the stored one', () => {
    const webhooks = [{ url: 'https://a.example', authorization: 'Bearer new' }];
    const stored = { ...NO_RECEIVERS, webhooks: [{ url: 'https://a.example', authorization: 'Bearer old' }] };
    expect(unmasked({ ...NO_RECEIVERS, webhooks }, stored).webhooks).toEqual(webhooks);
  });

  test('are refused if a URL is masked, and none that is stored matches it', () => {
    const [first, second] = ['https://hooks.slack.com/a/1234', 'https://hooks.slack.com/***5678'];
    const requested = { ...NO_RECEIVERS, slack: [{ url: first! }, { url: second! }] };
    expect(() => unmasked(requested, NO_RECEIVERS)).toThrow(
      `slack.1.url: no stored URL matches "${second}"; give the whole URL`,
    );
  });

  test('that share a URL keep each its own secret when they are sent back', () => {
    const hook = 'https://a.example/hook';
    const stored: Receivers = {
      ...NO_RECEIVERS,
      webhooks: [
        { url: hook, authorization: 'Bearer b', match: ['team="b"'] },
        { url: hook, authorization: 'Bearer c', match: ['team="c"'] },
        { url: hook, authorization: 'Bearer d', match: ['team="c"'] },
      ],
      slack: [
        { url: 'https://hooks.slack.com/services/T1/X123', match: ['team="b"'] },
        { url: 'https://hooks.slack.com/services/T2/X123', match: ['team="c"'] },
      ],
    };
    expect(unmasked(masked(stored), stored)).toEqual(stored);
    const send = (...webhooks: Receivers['webhooks']) =>
      unmasked({ ...NO_RECEIVERS, webhooks }, stored).webhooks;
    const [first, second, third] = masked(stored).webhooks;
    expect(send(second!, third!, first!)).toEqual([1, 2, 0].map((i) => stored.webhooks[i]));
    expect(send(first!)).toEqual([stored.webhooks[0]]);
    // It is not clear which one is meant.
    for (const unclear of [second!, { ...first!, match: ['team="e"'] }])
      expect(() => send(unclear)).toThrow(
        'webhooks.0.authorization: *** may stand for several stored secrets; give the secret',
      );
  });
});
