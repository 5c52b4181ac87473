/**
 * The bundler puts modules that both the page and another view use into the file that all views share, because one file
 * compresses better than several.
 */
import '../api/server-timing';
import '../graphs/graph-card';
import '../graphs/graphs';
import '../side/host-text';
import './date-range';
import './lists';
import './polling';
import './toolbar';
