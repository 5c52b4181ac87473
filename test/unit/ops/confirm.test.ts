import { PassThrough } from 'node:stream';
import { confirmOn } from '../../../scripts/ops/confirm';
import { OperatorError } from '../../../scripts/ops/invoke';

const terminal = (isTTY = true) => Object.assign(new PassThrough(), { isTTY, columns: 80 });

function answered(typed: string): Promise<void> {
  const input = terminal();
  const asked = confirmOn(input, terminal(), 'deletes all');
  input.write(typed);
  return asked;
}

test.each(['y\r', 'YES\r'])('%j confirms', async (typed) => {
  await answered(typed);
});

test.each([
  ['\r', 'Enter alone'],
  ['n\r', 'no'],
  ['\x03', 'Ctrl-C'],
  ['\x04', 'Ctrl-D'],
])('%j, %s, does nothing', async (typed) => {
  const asked = answered(typed);
  await expect(asked).rejects.toThrow(OperatorError);
  await expect(asked).rejects.toThrow('cancelled; nothing was done');
});

test('without a terminal the command needs --yes', async () => {
  await expect(confirmOn(terminal(false), terminal(), 'deletes all')).rejects.toThrow(
    'this deletes all; stdin is not a terminal, so give --yes to confirm',
  );
});
