import fc from 'fast-check';
import { type Era, judge, nextEra, type Verdict } from '../../../shared/recovery/era';
import { IS_LONG } from '../../support/long';

const SLOTS = 4;
const MOST_NODES = 5;

interface Mark {
  readonly by: string;
  readonly era: number;
}
/**
 * Data of a node, by key. Each slot has one partition, with a mark such as `m0` and samples such as `a0` and
 * `b0`.
 */
type Data = Map<string, Mark | ReadonlySet<number>>;

interface Node {
  id: string;
  run: string;
  /** The `run` of the process that was the primary before and is now the replica. */
  formerRun: string | undefined;
  previous: string | undefined;
  readonly slots: Set<number>;
  hasServed: boolean;
  data: Data;
  /** Data of the node's replica. */
  replica: Data | undefined;
  /** Failures and elections that the node counted. */
  failures: number;
}

type JudgedMark = Parameters<typeof judge>[0];

/** The rules by which recovery decides. */
interface Rules {
  readonly nextEra: typeof nextEra;
  readonly judge: (mark: JudgedMark, era: Era) => Verdict;
}
const ERAS: Rules = { nextEra, judge };

/**
 * A cluster and its recovery. The cluster's slots move key by key. At any moment, a primary may be replaced by a
 * replica that lags, restart empty, be killed for good, join or leave. At any moment, recovery may read the state of
 * the nodes. It then applies the rules under test. It repairs a loss as soon as it notices it.
 */
class World {
  readonly nodes: Node[] = [];
  private readonly acknowledged = Array.from({ length: SLOTS }, () => new Set<number>());
  private era: Era | undefined;
  private move: { readonly slot: number; readonly from: Node; readonly to: Node } | undefined;
  /**
   * Slots that moved since recovery last read the state of the nodes. They do not move again before it reads
   * the state again, because no rule notices a slot that leaves and returns between two reads (DESIGN.md).
   */
  private readonly moved = new Set<number>();
  /**
   * Nodes that joined or restarted since recovery last read the state of the nodes. They do not leave before it reads
   * the state again, for the same reason.
   */
  private readonly unseen = new Set<Node>();
  private made = 0;
  losses = 0;

  /** @param isScaling whether a command has announced that it moves slots */
  constructor(
    public isScaling: boolean,
    private readonly rules = ERAS,
  ) {
    const [first, second] = [this.join(), this.join()];
    for (let slot = 0; slot < SLOTS; slot++) {
      const node = slot % 2 === 0 ? first : second;
      node.slots.add(slot);
      for (const key of [`a${slot}`, `b${slot}`]) node.data.set(key, new Set());
      node.data.set(`m${slot}`, { by: node.id, era: 1 });
    }
    this.look();
  }

  private name(): string {
    return `id${++this.made}`;
  }

  join(): Node {
    const node = {
      id: this.name(),
      run: this.name(),
      formerRun: undefined,
      previous: undefined,
      slots: new Set<number>(),
      hasServed: false,
      data: new Map(),
      replica: undefined,
      failures: 0,
    };
    this.nodes.push(node);
    this.unseen.add(node);
    return node;
  }

  /**
   * @param isHeard whether the node's process ends before the other nodes forget it, so that they count a
   *   failure
   */
  leave(node: Node, isHeard = false): void {
    if (node.slots.size > 0 || this.move?.to === node || this.move?.from === node) return;
    if (this.unseen.has(node)) return;
    this.nodes.splice(this.nodes.indexOf(node), 1);
    if (isHeard) for (const other of this.nodes) other.failures++;
  }

  /** Ends a node. An operator gives its slots to another node, which has none of their data. */
  kill(node: Node): void {
    // The model leaves out a node that joins and leaves between two times at which recovery reads the state of the
    // nodes, and a slot's move to such a node, because recovery cannot see either.
    if (this.unseen.has(node) || this.isUnseenImport(node)) return;
    this.nodes.splice(this.nodes.indexOf(node), 1);
    for (const other of this.nodes) other.failures++;
    if (this.move?.from === node || this.move?.to === node) this.move = undefined;
    for (const slot of node.slots) this.nodes[0]!.slots.add(slot);
  }

  /** Whether a slot is moving to the node, unnoticed by recovery and not announced by a command. */
  private isUnseenImport(node: Node): boolean {
    return (!this.isScaling || node.hasServed) && this.isImporting(node) && this.moved.has(this.move!.slot);
  }

  private isImporting(node: Node): boolean {
    return this.move?.to === node;
  }

  begin(slot: number, to: Node): void {
    const from = this.owner(slot);
    if (this.move !== undefined || from === to || this.moved.has(slot)) return;
    this.move = { slot, from, to };
    this.moved.add(slot);
  }

  moveKey(): void {
    if (this.move === undefined) return;
    const { slot, from, to } = this.move;
    const key = keysOf(slot).find((each) => from.data.has(each));
    if (key !== undefined) {
      to.data.set(key, from.data.get(key)!);
      from.data.delete(key);
      return;
    }
    from.slots.delete(slot);
    to.slots.add(slot);
    this.move = undefined;
  }

  moveSlot(slot: number, to: Node): void {
    this.begin(slot, to);
    while (this.move !== undefined) this.moveKey();
  }

  /** Moves all samples to the next tier, like a flusher's run. */
  drain(): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      const { id, data } = this.owner(slot);
      if ((data.get(`m${slot}`) as Mark | undefined)?.by !== id) this.resolve(slot);
      for (const key of [`a${slot}`, `b${slot}`]) data.set(key, new Set());
      this.acknowledged[slot]!.clear();
    }
  }

  sync(node: Node): void {
    node.replica = new Map(node.data);
  }

  /** A replica takes over with the data that it has. Without a replica, the server restarts empty. */
  replace(node: Node, mayForget = this.made % 2 === 0): void {
    const isRestart = node.replica === undefined;
    // Some of the nodes that take over or restart have forgotten that a slot is moving to them.
    const forgetsMove = mayForget && this.isImporting(node);
    if (forgetsMove && (this.unseen.has(node) || this.isUnseenImport(node))) return;
    if (forgetsMove) this.move = undefined;
    if (isRestart) this.unseen.add(node);
    else for (const other of this.nodes) other.failures++;
    node.failures = 0;
    node.previous = isRestart ? undefined : node.id;
    node.id = this.name();
    [node.run, node.formerRun] = isRestart
      ? [this.name(), undefined]
      : [node.formerRun ?? this.name(), node.run];
    node.data = node.replica ?? new Map();
    node.replica = undefined;
  }

  /** Attaches the node's first replica, which changes its id. */
  rename(node: Node): void {
    if (node.previous === undefined) node.id = this.name();
  }

  append(slot: number, sample: number): void {
    const isMarked = ({ id, data }: Node) => (data.get(`m${slot}`) as Mark | undefined)?.by === id;
    const first = this.whole(slot);
    if (first !== undefined && !isMarked(first)) this.resolve(slot);
    const place = this.whole(slot);
    if (place === undefined || !isMarked(place)) return;
    const key = `${sample % 2 === 0 ? 'a' : 'b'}${slot}`;
    place.data.set(key, new Set([...((place.data.get(key) as ReadonlySet<number>) ?? []), sample]));
    this.acknowledged[slot]!.add(sample);
  }

  look(): void {
    const primaries = this.nodes.map((node) => ({
      id: node.id,
      run: node.run,
      previous: node.previous,
      slots: [...node.slots].sort().map(String).join(' '),
      isOpen: this.move?.from === node || this.move?.to === node,
      failures: node.failures,
    }));
    const { era, isLoss } = this.rules.nextEra(this.era, primaries, this.isScaling);
    this.era = era;
    this.moved.clear();
    this.unseen.clear();
    for (const node of this.nodes) node.hasServed ||= node.slots.size > 0;
    if (!isLoss) return;
    for (let slot = 0; slot < SLOTS; slot++) this.repair(slot);
  }

  /** Does what the survey in a flusher's run does: marks whole partitions with the era's number, unless slots are moving. */
  survey(): void {
    this.look();
    for (let slot = 0; slot < SLOTS && this.move === undefined; slot++) {
      const { id, data } = this.owner(slot);
      const mark = data.get(`m${slot}`) as Mark | undefined;
      if (mark?.by === id) data.set(`m${slot}`, { by: id, era: this.era!.number });
    }
  }

  private resolve(slot: number): void {
    this.look();
    const [place, mark] = this.find(`m${slot}`, slot);
    const verdict = this.judge(slot);
    // A mark is taken over once its slot has arrived.
    if (verdict === 'moved' && this.move?.slot !== slot)
      place.data.set(`m${slot}`, { ...(mark as Mark), by: place.id });
    if (verdict !== 'lost') return;
    for (let each = 0; each < SLOTS; each++) if (this.judge(each) === 'lost') this.repair(each);
  }

  private judge(slot: number): Verdict | undefined {
    const [{ id: here }, mark] = this.find(`m${slot}`, slot);
    const { by: stamp = '', era } = (mark as Mark | undefined) ?? {};
    if (stamp === here) return undefined;
    const judged: JudgedMark =
      mark === undefined
        ? { state: 'absent', stamp, here }
        : { state: 'bad', stamp, here, loss: '', isExpired: false, era, lostFromMs: 0 };
    return this.rules.judge(judged, this.era!);
  }

  /** Brings all acknowledged samples of a slot back, like a replay. */
  private repair(slot: number): void {
    this.losses++;
    for (const [i, key] of [`a${slot}`, `b${slot}`].entries())
      this.find(key, slot)[0].data.set(
        key,
        new Set([...this.acknowledged[slot]!].filter((n) => n % 2 === i)),
      );
    const [place] = this.find(`m${slot}`, slot);
    place.data.set(`m${slot}`, { by: place.id, era: this.era!.number });
  }

  /** Acknowledged samples that are missing, although recovery had every opportunity to notice. */
  hidden(): number[] {
    while (this.move !== undefined) this.moveKey();
    this.survey();
    return Array.from({ length: SLOTS }, (_, slot) => {
      const place = this.owner(slot);
      if ((place.data.get(`m${slot}`) as Mark | undefined)?.by !== place.id) this.resolve(slot);
      const held = new Set(
        [`a${slot}`, `b${slot}`].flatMap((key) => [...((place.data.get(key) ?? []) as Set<number>)]),
      );
      return [...this.acknowledged[slot]!].filter((sample) => !held.has(sample));
    }).flat();
  }

  private owner(slot: number): Node {
    return this.nodes.find((node) => node.slots.has(slot))!;
  }

  /** The node that has all keys of a slot; undefined while some keys are elsewhere (TRYAGAIN). */
  private whole(slot: number): Node | undefined {
    if (this.move?.slot !== slot) return this.owner(slot);
    const { from, to } = this.move;
    const there = keysOf(slot).filter((key) => from.data.has(key)).length;
    if (there > 0) return there === keysOf(slot).length ? from : undefined;
    return keysOf(slot).every((key) => to.data.has(key)) ? to : undefined;
  }

  /** The node that answers a command on one key, and the value that it has. */
  private find(key: string, slot: number): [Node, Data extends Map<string, infer V> ? V | undefined : never] {
    const owner = this.owner(slot);
    const isThere = this.move?.slot !== slot || owner.data.has(key);
    const place = isThere ? owner : this.move!.to;
    return [place, place.data.get(key)];
  }
}

const keysOf = (slot: number) => [`a${slot}`, `m${slot}`, `b${slot}`];

/** A simpler rule, under which the mark of another primary counts as moved if that primary meets a condition. */
function movedIf({ stamp }: JudgedMark, has: (markedBy: string) => boolean): Verdict {
  return stamp !== '' && has(stamp) ? 'moved' : 'lost';
}

/** Simpler rules, each with a history in which it hides a loss. */
describe.each<{ rules: string; plainer: Rules; history: string; happens: (world: World) => void }>([
  {
    rules: 'marks alone',
    plainer: { ...ERAS, nextEra: (...look) => ({ ...nextEra(...look), isLoss: false }) },
    history: 'a node dies with half of a partition, whose mark stays where it was',
    happens: (world) => {
      const to = world.nodes[1]!;
      world.append(0, 0);
      world.begin(0, to);
      world.moveKey();
      world.look();
      world.replace(to, true);
    },
  },
  {
    rules: 'a mark has moved if its primary is still there',
    plainer: {
      ...ERAS,
      judge: (mark, era) => movedIf(mark, (markedBy) => era.primaries.some(({ id }) => id === markedBy)),
    },
    history: 'a slot moves, and a replica that has the mark of before takes over',
    happens: (world) => {
      const to = world.nodes[1]!;
      world.moveSlot(0, to);
      world.sync(to);
      world.append(0, 0);
      world.replace(to);
    },
  },
  {
    rules: 'after a drain, a mark has moved if `ops scale` has noted that slots move',
    plainer: {
      nextEra: (...look) => ({ ...nextEra(...look), isLoss: false }),
      judge: (mark) => movedIf(mark, () => true),
    },
    history: 'a primary is replaced in that time',
    happens: (world) => {
      const to = world.nodes[1]!;
      world.sync(to);
      world.drain();
      world.isScaling = true;
      world.append(1, 0);
      world.replace(to);
    },
  },
  {
    rules: 'the same, and a primary that fails in that time is a loss of all',
    plainer: { ...ERAS, judge: (mark) => movedIf(mark, () => true) },
    history: 'a primary is replaced between the drain and the note',
    happens: (world) => {
      const to = world.nodes[1]!;
      world.sync(to);
      world.drain();
      world.append(1, 0);
      world.replace(to);
      world.look();
      world.isScaling = true;
    },
  },
  {
    rules: 'a primary that is not there any more was emptied',
    plainer: {
      ...ERAS,
      nextEra: (era, primaries, isScaling) =>
        nextEra(
          era,
          primaries.map((primary) => ({ ...primary, failures: 0 })),
          isScaling,
        ),
    },
    history: 'a primary is killed while it gives a slot away, and others are given its slots',
    happens: (world) => {
      const [from, to] = world.nodes as [Node, Node];
      world.append(0, 1);
      world.begin(0, to);
      world.moveKey();
      world.moveKey();
      world.look();
      world.kill(from);
    },
  },
])('$rules', ({ plainer, history, happens }) => {
  test(`would hide a loss, which eras show: ${history}`, () => {
    const [hidden, shown] = [plainer, ERAS].map((rules) => {
      const world = new World(false, rules);
      happens(world);
      return world.hidden();
    });
    expect(hidden).toHaveLength(1);
    expect(shown).toEqual([]);
  });
});

const actions = fc.array(fc.tuple(fc.nat(13), fc.nat(SLOTS - 1), fc.nat(MOST_NODES - 1)), {
  minLength: 20,
  maxLength: 60,
});

test('no loss stays hidden, whatever moves, fails and is looked at in whatever order', () => {
  let losses = 0;
  fc.assert(
    fc.property(actions, fc.boolean(), (steps, isScaling) => {
      const world = new World(isScaling);
      steps.forEach(([action, slot, n], sample) => {
        const node = world.nodes[n % world.nodes.length]!;
        if (action <= 3) world.append(slot, sample);
        else if (action === 4) world.begin(slot, node);
        else if (action <= 6) world.moveKey();
        else if (action === 7) world.sync(node);
        else if (action === 8) world.replace(node);
        else if (action === 9) world.survey();
        else if (action === 10 && world.nodes.length < MOST_NODES) world.join();
        else if (action === 11 && world.nodes.length > 1) world.leave(node, slot % 2 === 0);
        else if (action === 12 && world.nodes.length > 1) world.kill(node);
        else if (action === 13) world.rename(node);
      });
      expect(world.hidden()).toEqual([]);
      losses += world.losses;
    }),
    { numRuns: IS_LONG ? 100_000 : 2_000 },
  );
  expect(losses).toBeGreaterThan(0);
});

test('without a failure no loss is reported, if each joining node is looked at before it gets slots and no node leaves between the same two looks', () => {
  fc.assert(
    fc.property(actions, fc.boolean(), (steps, isScaling) => {
      const world = new World(isScaling);
      steps.forEach(([action, slot, n], sample) => {
        const node = world.nodes[n % world.nodes.length]!;
        if (action <= 3) world.append(slot, sample);
        else if (action <= 5) world.begin(slot, node);
        else if (action <= 8) world.moveKey();
        else if (action === 9) world.survey();
        else if (action === 10 && world.nodes.length < MOST_NODES) {
          world.look();
          world.join();
          world.look();
        } else if (action === 11 && world.nodes.length > 1) world.leave(node);
        else if (action === 12) world.look();
        else if (action === 13) world.rename(node);
      });
      expect(world.hidden()).toEqual([]);
      expect(world.losses).toBe(0);
    }),
    { numRuns: 500 },
  );
});
