import { addStyle } from './add-style';
import rules from './forms.css' with { type: 'text' };

addStyle(rules);
