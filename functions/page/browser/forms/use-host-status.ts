import { useEffect, useState } from 'preact/hooks';
import type { Api, ApiError, Host, HostStatus } from '../api/api';

/**
 * Returns the status of a host, and a function that changes it.
 *
 * @param onChanged called after a change
 * @returns `status`, which after a change is the chosen status until `host` has been read again; `problem`,
 *   the error of the last change; and `change`
 */
export function useHostStatus(api: Api, host: Host, onChanged: () => void) {
  const [chosen, setChosen] = useState<HostStatus>();
  const [problem, setProblem] = useState<ApiError>();
  // When another status has been read, show it instead of the chosen one: somebody else may have changed it.
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
