const FILE = `groups:
  - name: first
    rules:
      - alert: HighLoad
        expr: loadavg5 > 4
        for: 5m
        annotations:
          summary: "{{ $labels.hostname }}: load {{ $value }}"
`;

/** Tells a user who has no rules how to add the first one. */
export function NoRules() {
  return (
    <div class="empty-page">
      <h2>No rules yet</h2>
      <p>
        Rules are evaluated every minute. A rule whose expression has a result raises an alert, which is shown
        here and sent to your receivers. Write rules in Prometheus' format, for example this{' '}
        <code>rules.yaml</code>:
      </p>
      <pre>{FILE}</pre>
      <p>Store them, from a checkout:</p>
      <pre>npm run ops -- rules sync rules.yaml --url {location.origin} --key ht_...</pre>
      <p>
        mimirtool and Grafana store rules here too, by Mimir's ruler API at{' '}
        <code>{location.origin}/prometheus/config/v1/rules</code>. New rules appear here seconds later.
      </p>
    </div>
  );
}
