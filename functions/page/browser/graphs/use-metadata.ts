import { useEffect, useState } from 'preact/hooks';
import type { Api } from '../api/api';
import type { Metadata } from './metadata';

/** Reads the metadata of metrics. Returns undefined until it has been read, and an empty map if that failed. */
export function useMetadata(api: Api): Metadata | undefined {
  const [metadata, setMetadata] = useState<Metadata>();
  useEffect(() => {
    api.metadata().then(setMetadata, () => setMetadata(new Map()));
  }, [api]);
  return metadata;
}
