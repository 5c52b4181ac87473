import { failOnBreaks, noteEnd } from './aws-contract';

afterEach(failOnBreaks);
afterAll(noteEnd);
