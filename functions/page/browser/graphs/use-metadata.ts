import { useEffect, useState } from 'preact/hooks';
import type { Api } from '../api/api';
import type { Metadata } from './metadata';

/** Reads the metadata of metrics. Undefined until it has been read; empty if that failed. */
export function useMetadata(api: Api): Metadata | undefined {
  const [metadata, setMetadata] = useState<Metadata>();
  useEffect(() => {
    api.metadata().then(setMetadata, () => setMetadata(new Map()));
  }, [api]);
  return metadata;
}
