import { checkTenantName } from '../../../shared/tenancy/tenants';

test.each(['default', 'a', 'A9', 'acme.example', 'team-1_b', 'x'.repeat(64)])(
  '%j is a tenant name',
  (name) => {
    expect(() => checkTenantName(name)).not.toThrow();
  },
);

test.each([
  { name: 'default ', why: 'a space at the end' },
  { name: 'two words', why: 'a space' },
  { name: 'a\nb', why: 'a line break' },
  { name: 'a\n', why: 'a line break at the end' },
  { name: '../x', why: 'a path' },
  { name: '-x', why: 'what looks like an option' },
  { name: 'x.', why: 'a dot at the end' },
  { name: 'á', why: 'a letter that has look-alikes' },
  { name: '\ud800', why: 'half of a surrogate pair' },
  { name: '', why: 'nothing' },
  { name: 'x'.repeat(65), why: '65 characters' },
])('$name is refused, for $why, in a sentence that says what is allowed', ({ name }) => {
  expect(() => checkTenantName(name)).toThrow(/cannot be a tenant's name: use 1 to 64 letters/);
});
