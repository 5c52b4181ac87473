import { primariesOf } from '../../../shared/hot/topology';

const NONE = '0'.repeat(40);
const idOf = (letter: string) => letter.repeat(40);

/** The answer to `INFO replication server`. */
const replication = (id: string, role = 'master', previous = NONE) =>
  `# Replication\r\nrole:${role}\r\nmaster_replid:${id}\r\nmaster_replid2:${previous}\r\n\r\n# Server\r\nrun_id:r${id}\r\n`;

/** The answer of the node `own` to `CLUSTER NODES`. */
const nodes = (own: string, ...lines: readonly string[]) =>
  lines.map((line) => (line.startsWith(own) ? line.replace('master', 'myself,master') : line)).join('\n');

const lines = [
  'n1 10.0.0.1:6379@16379,one.cache,shard-id=s1 master - 0 0 1 connected 0-99 [93->-n3]',
  'n2 10.0.0.2:6379@16379 master - 0 0 2 connected 100-149 151-199',
  'r1 10.0.0.4:6379@16379 slave n1 0 0 1 connected',
];
const joined = 'n3 10.0.0.3:6379@16379,three.cache master - 0 0 3 connected';
const failed = 'n9 10.0.0.9:6379@16379 master,fail - 0 0 9 disconnected';

describe('primariesOf', () => {
  const reply = (node: string, id: string, ...all: readonly string[]) => ({
    info: replication(idOf(id)),
    nodes: nodes(node, ...all),
  });

  test('a server without a cluster serves all', () => {
    expect(primariesOf([{ info: replication(idOf('a')), nodes: '' }])).toEqual({
      text: idOf('a'),
      isMoving: false,
      movingSlots: new Set(),
      primaries: [{ id: idOf('a'), run: `r${idOf('a')}`, previous: undefined, slots: 'all', isOpen: false }],
      unreached: [],
    });
  });

  test('each primary reports its slots; a primary that joined without slots must be asked too', () => {
    const all = [...lines, joined, failed];
    const known = [reply('n1', 'a', ...all), reply('n2', 'b', ...all)];
    expect(primariesOf(known)).toMatchObject({
      text: `${idOf('a')} 0-99 [93->-n3]; ${idOf('b')} 100-149 151-199`,
      isMoving: true,
      movingSlots: new Set([93]),
      primaries: undefined,
      unreached: [{ host: 'three.cache', port: 6379 }],
    });
    const third = { info: replication(idOf('c'), 'master', idOf('x')), nodes: nodes('n3', ...all) };
    expect(primariesOf([...known, third])).toMatchObject({
      primaries: [
        { id: idOf('a'), slots: '0-99', isOpen: true },
        { id: idOf('b'), slots: '100-149 151-199', isOpen: false },
        { id: idOf('c'), previous: idOf('x'), slots: '', isOpen: false },
      ],
      unreached: [],
    });
  });

  test.each([
    { name: 'failures and elections are counted', more: ['fail_sent:4', 'auth-req_received:2'], failures: 6 },
    { name: 'counters that are 0 are not listed', more: ['ping_sent:90'], failures: 0 },
  ])('$name', ({ more, failures }) => {
    const lines = ['cluster_state:ok', ...more.map((each) => `cluster_stats_messages_${each}`)];
    const cluster = [...lines, 'cluster_stats_messages_received:207'].join('\r\n');
    const one = { ...reply('n1', 'a', 'n1 10.0.0.1:6379@16379 master - 0 0 1 connected 0-99'), cluster };
    expect(primariesOf([one]).primaries).toMatchObject([{ failures }]);
    expect(primariesOf([{ ...one, cluster: '' }]).primaries![0]!.failures).toBeUndefined();
  });

  test('a primary that does not answer, and that the cluster has not given up, leaves the others unknown', () => {
    const silent = { info: '', nodes: '' };
    expect(primariesOf([reply('n1', 'a', ...lines), silent])).toMatchObject({
      primaries: undefined,
      unreached: [{ host: '10.0.0.2', port: 6379 }],
    });
    const given = lines.map((line) =>
      line.replace('n2 10.0.0.2:6379@16379 master', 'n2 10.0.0.2:6379@16379 master,fail'),
    );
    expect(primariesOf([reply('n1', 'a', ...given), silent]).primaries).toHaveLength(1);
    expect(primariesOf([silent, silent]).primaries).toBeUndefined();
  });

  test('a node that has become a replica is no primary', () => {
    const demoted = { info: replication(idOf('a'), 'slave'), nodes: nodes('n2', ...lines) };
    expect(primariesOf([reply('n1', 'a', ...lines), demoted]).primaries).toHaveLength(1);
  });
});
