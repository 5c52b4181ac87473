import { useState } from 'preact/hooks';
import { createSilence } from '../api/alerting';
import type { Api } from '../api/api';
import type { LabelMap } from '../api/promql-results';
import { Choice } from '../view/choice';
import { newSilence, SILENCE_LENGTHS, type SilenceScope } from './new-silence';
import { ReasonForm } from './reason-form';

export interface SilenceFormProps {
  readonly api: Api;
  /** Labels of the alert. */
  readonly labels: LabelMap;
  readonly onSilenced: () => void;
}

/** A form for silencing an alert, so that receivers are not notified of it. */
export function SilenceForm({ api, labels, onSilenced }: SilenceFormProps) {
  const [lengthS, setLength] = useState(SILENCE_LENGTHS[0]![0]);
  const [scope, setScope] = useState<SilenceScope>('alert');
  return (
    <ReasonForm
      action="Silence"
      placeholder="reason for the silence"
      maxReason={500}
      onSubmit={async (reason) => {
        if (reason === '') throw new Error('Give a reason, for people who find the alert silenced.');
        await createSilence(api, newSilence(labels, scope, reason, lengthS, Date.now()));
        onSilenced();
      }}
    >
      <Choice
        label="For"
        value={String(lengthS)}
        options={SILENCE_LENGTHS.map(([seconds, text]) => [String(seconds), text])}
        onChoose={(value) => setLength(Number(value))}
      />
      <Choice
        label="What"
        value={scope}
        options={[
          ['alert', 'this alert'],
          ['name', `all of ${labels.alertname ?? ''}`],
        ]}
        onChoose={(value) => setScope(value as SilenceScope)}
      />
    </ReasonForm>
  );
}
