import { type Probe, type ProbeRequest, probe } from '../../shared/monitors/probe';
import { settings } from '../../shared/platform/environment';

const allowsPrivate = settings().privateReceivers === 'on';

/** Requests the URLs of external monitors for the evaluator. The function has no other rights. */
export const handler = ({ requests }: { readonly requests: readonly ProbeRequest[] }): Promise<Probe[]> =>
  Promise.all(requests.map((request) => probe(request, allowsPrivate)));
