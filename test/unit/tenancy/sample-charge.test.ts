import fc from 'fast-check';
import { SampleCharge } from '../../../shared/tenancy/sample-charge';
import type { Tenant } from '../../../shared/tenancy/tenants';

test('a post is charged its samples, but at least one, and one for each kilobyte of its body', () => {
  const step = fc.oneof(
    fc.record({ bytes: fc.nat({ max: 3_000_000 }) }),
    fc.record({ samples: fc.nat({ max: 5_000 }) }),
  );
  void fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      let charged = 0;
      const count = (_: Tenant, { samplesCharged = 0 }) => {
        expect(samplesCharged).toBeGreaterThan(0);
        charged += samplesCharged;
      };
      const charge = new SampleCharge({ count }, {} as Tenant);
      charge.body(0);
      for (const each of steps) 'bytes' in each ? charge.body(each.bytes) : charge.samples(each.samples);
      const sizes = steps.map((each) => ('bytes' in each ? Math.ceil(each.bytes / 1_000) : each.samples));
      expect(charged).toBe(Math.max(1, ...sizes));
    }),
  );
});
