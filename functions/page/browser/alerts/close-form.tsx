import type { Api } from '../api/api';
import { closeAlert } from '../api/monitoring';
import { ReasonForm } from './reason-form';

export interface CloseFormProps {
  readonly api: Api;
  /** Id of the alert. */
  readonly id: string;
  readonly onClosed: () => void;
}

/** A form that closes an alert by hand. */
export function CloseForm({ api, id, onClosed }: CloseFormProps) {
  return (
    <ReasonForm
      action="Close the alert"
      placeholder="reason; the alert opens again if its cause persists"
      maxReason={2_000}
      onSubmit={async (reason) => {
        await closeAlert(api, id, reason);
        onClosed();
      }}
    />
  );
}
