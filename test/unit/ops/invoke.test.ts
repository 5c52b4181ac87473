import { Functions } from '../../../scripts/ops/invoke';

test.each(['nonsense', 'localhost:8080', ''])('refuses %j as the address of a stack', (url) => {
  expect(() => new Functions(url)).toThrow(
    `--url ${url} is not an address; give one such as http://127.0.0.1:8080`,
  );
});
