/** What one further view shares with the page lies in the file that all views share: one file compresses better than several. */
import '../api/server-timing';
import '../graphs/graph-card';
import '../graphs/graphs';
import '../side/host-text';
import './date-range';
import './lists';
import './polling';
import './toolbar';
