import { type Probe, type ProbeRequest, probe } from '../../shared/monitors/probe';
import { mapLimited } from '../../shared/platform/concurrency';
import { settings } from '../../shared/platform/environment';

const allowsPrivate = settings().privateReceivers === 'on';

/** Requests the URLs of external monitors for the evaluator. The function has no other rights. */
export const handler = ({ requests }: { readonly requests: readonly ProbeRequest[] }): Promise<Probe[]> =>
  mapLimited(requests, requests.length, (request) => probe(request, allowsPrivate));
