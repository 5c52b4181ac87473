import { useEffect, useState } from 'preact/hooks';
import type { Api, ApiError, Host, HostStatus } from '../api/api';

/**
 * The status of a host, and its change.
 *
 * @param onChanged called after a change
 * @returns the host's status, or the chosen one until the host has it; the error of the last change; a function that
 *   changes the status
 */
export function useHostStatus(api: Api, host: Host, onChanged: () => void) {
  const [chosen, setChosen] = useState<HostStatus>();
  const [problem, setProblem] = useState<ApiError>();
  // Others may change the status, too.
  useEffect(() => setChosen(undefined), [host.status]);
  const change = async (status: HostStatus) => {
    setChosen(status);
    setProblem(undefined);
    try {
      await api.setStatus(host.id, status);
      onChanged();
    } catch (error) {
      setChosen(undefined);
      setProblem(error as ApiError);
    }
  };
  return { status: chosen ?? host.status, problem, change };
}
