import { devnetRelayers } from '../../src/devnet/accounts.js'
import { fundNative } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import {
  delayed,
  dropped,
  droppedOnceForwarded,
  duplicated,
  forgetful,
  pause,
  refused,
  refusedThoughForwarded,
  reversed,
  standStill,
  swallowed,
} from '../faults/support/behaviours.js'
import type { Replicas } from '../faults/support/replicas.js'
import type { Behaviour } from '../faults/support/rpc-proxy.js'
import type { TcpProxy } from '../faults/support/tcp-proxy.js'
import { type AuditedWorld, chainHead, type World } from '../faults/support/world.js'

/** Something goes wrong for a while, and is right again when the promise resolves. */
export interface Trouble {
  name: string
  run(): Promise<void>
}

const SEND = 'eth_sendRawTransaction'
const PURSE = 100n * 10n ** 18n
const NODE_TROUBLE_MS = 2_000
/** Longer than a lease: the others work on by the time that the replica wakes. */
const PAUSED_MS = 8_000

const behaviours: [string, string, Behaviour][] = [
  ['sends answered by an error', SEND, refusedThoughForwarded('internal error')],
  ['sends answered with a low nonce', SEND, refusedThoughForwarded('nonce too low')],
  ['sends cut off after the node took them', SEND, droppedOnceForwarded],
  ['sends cut off before the node took them', SEND, dropped],
  ['sends accepted and forgotten', SEND, swallowed],
  ['sends heard twice', SEND, duplicated],
  ['sends in the wrong order', SEND, reversed(4)],
  [
    'sends refused for lack of gas money',
    SEND,
    refused('insufficient funds for gas * price + value'),
  ],
  ['no receipts of blocks', 'eth_getBlockReceipts', forgetful],
  ['no receipts of transactions', 'eth_getTransactionReceipt', forgetful],
  ['late reads', '*', delayed(700)],
  ['no node', '*', dropped],
]

export function anyOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item
}

/** Nodes that lie or are gone, and a wallet run dry. */
export function chainTroubles({ proxy, chainUrl }: AuditedWorld): Trouble[] {
  return [
    ...behaviours.map(
      ([name, method, behaviour]): Trouble => ({
        name,
        async run() {
          const lift = proxy.fault(method, behaviour)
          await pause(NODE_TROUBLE_MS)
          lift()
        },
      }),
    ),
    {
      name: 'a node that stands still',
      async run() {
        const lift = standStill(proxy, await chainHead(chainUrl))
        await pause(NODE_TROUBLE_MS)
        lift()
      },
    },
    {
      name: 'an empty purse',
      async run() {
        const { address } = anyOf(devnetRelayers.slice(0, 2))
        await fundNative(chainUrl, address, 1n)
        await pause(NODE_TROUBLE_MS)
        await fundNative(chainUrl, address, PURSE)
      },
    },
  ]
}

/** A single process that dies or is stopped, and a chain that stops with it. */
export function serviceTroubles(world: World): Trouble[] {
  const crash = async () => {
    await world.service().crash()
    await world.restart()
  }
  return [
    {
      name: 'no blocks',
      async run() {
        const goOn = await world.holdBlocks()
        await pause(NODE_TROUBLE_MS)
        await goOn()
      },
    },
    {
      name: 'nodes that dropped what waited',
      async run() {
        const goOn = await world.holdBlocks()
        await pause(300)
        await call(world.chainUrl, 'anvil_dropAllTransactions')
        await goOn()
      },
    },
    { name: 'kill -9', run: crash },
    {
      name: 'kill -9 twice',
      async run() {
        await crash()
        await pause(Math.random() * 400)
        await crash()
      },
    },
    {
      name: 'SIGTERM',
      async run() {
        world.service().signal('SIGTERM')
        await world.service().exited
        await world.restart()
      },
    },
  ]
}

/** Replicas and a database that die, stop, stand still or cannot reach each other. */
export function replicaTroubles(world: Replicas, ways: readonly TcpProxy[]): Trouble[] {
  const replicas = ways.length
  const anyReplica = () => Math.floor(Math.random() * replicas)
  const anyTwo = () => {
    const first = anyReplica()
    return [first, (first + 1) % replicas]
  }
  return [
    {
      name: 'kill -9 of one',
      async run() {
        const victim = anyReplica()
        await world.service(victim).crash()
        await world.restart(victim)
      },
    },
    {
      name: 'kill -9 of two',
      async run() {
        const victims = anyTwo()
        await Promise.all(victims.map((i) => world.service(i).crash()))
        await pause(Math.random() * 3_000)
        await Promise.all(victims.map((i) => world.restart(i)))
      },
    },
    {
      name: 'a replica that stands still for longer than a lease',
      async run() {
        const paused = world.service(anyReplica())
        paused.signal('SIGSTOP')
        await pause(PAUSED_MS)
        paused.signal('SIGCONT')
      },
    },
    {
      name: 'a rolling restart',
      async run() {
        for (let i = 0; i < replicas; i++) {
          world.service(i).signal('SIGTERM')
          await world.service(i).exited
          await world.restart(i)
        }
      },
    },
    ...databaseTroubles(world, ways),
  ]
}

/** A database that dies, or cannot be reached. */
export function databaseTroubles(world: Replicas, ways: readonly TcpProxy[]): Trouble[] {
  return [
    { name: 'a database that restarts', run: () => world.postgres.restart(1_000) },
    { name: 'a database that is killed', run: () => world.postgres.crash() },
    {
      name: 'a network that swallows all between a replica and the database',
      async run() {
        const mend = anyOf(ways).swallow()
        await pause(PAUSED_MS)
        mend()
      },
    },
  ]
}
