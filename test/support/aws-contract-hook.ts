import { failOnBreaks } from './aws-contract';

afterEach(failOnBreaks);
