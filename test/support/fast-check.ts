/** What jest gives to a test that imports `fast-check` (jest.config.ts): the package, with a seed for all properties. */
import * as fastCheck from '../../node_modules/fast-check/lib/cjs/fast-check';
import { SEED } from './seed';

fastCheck.configureGlobal({ seed: SEED });

export * from '../../node_modules/fast-check/lib/cjs/fast-check';
export default fastCheck;
