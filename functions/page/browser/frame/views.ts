import type { ComponentType } from 'preact';
import type { Api } from '../api/api';
import type { Span } from '../view/time-range';
import type { View, ViewState } from '../view/view-state';
import { Graphs } from './graphs';
import { lazyView } from './lazy-view';
import type { Lists } from './lists';
import type { OnSettled } from './polling';
import { StatusPage } from './status';
import type { ChangeView } from './use-view-state';

export interface ViewProps {
  readonly api: Api;
  readonly state: ViewState;
  /** The range, computed for the current time. */
  readonly span: Span;
  /** Number of times that the server has become reachable again after a failure. */
  readonly returns: number;
  /** Undefined until the first response. */
  readonly lists: Lists | undefined;
  /** Reads the lists again, after a change. */
  readonly onListsChanged: () => void;
  readonly onChange: ChangeView;
  readonly onSettled: OnSettled;
}

/**
 * The views by their name in the address. To add a view, add an entry here, its name in `VIEWS`, and a
 * component that renders a `Main`.
 */
export const VIEW_ENTRIES: Readonly<
  Record<View, { readonly title: string; readonly Component: ComponentType<ViewProps> }>
> = {
  graphs: { title: 'Graphs', Component: Graphs },
  dashboards: {
    title: 'Dashboards',
    Component: lazyView('Dashboards', () =>
      import('../dashboards/dashboards-view').then(({ DashboardsView }) => DashboardsView),
    ),
  },
  explore: {
    title: 'Explore',
    // Loaded on demand: the editor is larger than the rest of the page.
    Component: lazyView('Explore', () =>
      import('../explore/explore-view').then(({ ExploreView }) => ExploreView),
    ),
  },
  alerts: {
    title: 'Alerts',
    Component: lazyView('Alerts', () => import('../alerts/alerts-view').then(({ AlertsView }) => AlertsView)),
  },
  hosts: {
    title: 'Hosts',
    Component: lazyView('Hosts', () => import('../hosts/hosts-view').then(({ HostsView }) => HostsView)),
  },
  monitors: {
    title: 'Monitors',
    Component: lazyView('Monitors', () =>
      import('../monitors/monitors-view').then(({ MonitorsView }) => MonitorsView),
    ),
  },
  downtimes: {
    title: 'Downtimes',
    Component: lazyView('Downtimes', () =>
      import('../downtimes/downtimes-view').then(({ DowntimesView }) => DowntimesView),
    ),
  },
  status: { title: 'Status', Component: StatusPage },
};
