import { useEffect, useState } from 'preact/hooks';
import type { Api } from '../api/api';
import type { Metadata } from './metadata';

/** What is known of metrics; undefined until it was read, empty if it cannot be. */
export function useMetadata(api: Api): Metadata | undefined {
  const [metadata, setMetadata] = useState<Metadata>();
  useEffect(() => {
    api.metadata().then(setMetadata, () => setMetadata(new Map()));
  }, [api]);
  return metadata;
}
