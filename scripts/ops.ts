import './local/node-version';
import { OperatorError } from './ops/invoke';
import { opsProgram } from './ops/program';

opsProgram()
  .parseAsync()
  .catch((error: unknown) => {
    console.error(error instanceof OperatorError ? `ops: ${error.message}` : error);
    process.exitCode = 1;
  });
