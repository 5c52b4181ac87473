// This import must be first: other modules use the language while they load.
import './language';
import { render } from 'preact';
import { App } from './app';
import { Failure } from './failure';

const root = document.getElementById('app')!;
root.replaceChildren();
try {
  render(<App />, root);
} catch (error) {
  render(<Failure error={error} />, root);
}
