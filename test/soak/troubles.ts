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
import type { Behaviour } from '../faults/support/rpc-proxy.js'
import { chainHead, type World } from '../faults/support/world.js'

/** Something goes wrong for a while, and is right again when the promise resolves. */
export interface Trouble {
  name: string
  run(world: World, relayer: `0x${string}`): Promise<void>
}

const SEND = 'eth_sendRawTransaction'
const PURSE = 100n * 10n ** 18n
const NODE_TROUBLE_MS = 2_000

const nodeTroubles: [string, string, Behaviour][] = [
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

/** All that the soak draws from: a process that dies or is stopped, nodes that lie or are gone, a wallet run dry. */
export const troubles: Trouble[] = [
  ...nodeTroubles.map(
    ([name, method, behaviour]): Trouble => ({
      name,
      async run({ proxy }) {
        const lift = proxy.fault(method, behaviour)
        await pause(NODE_TROUBLE_MS)
        lift()
      },
    }),
  ),
  {
    name: 'a node that stands still',
    async run({ proxy, chainUrl }) {
      const lift = standStill(proxy, await chainHead(chainUrl))
      await pause(NODE_TROUBLE_MS)
      lift()
    },
  },
  {
    name: 'no blocks',
    async run(world) {
      const goOn = await world.holdBlocks()
      await pause(NODE_TROUBLE_MS)
      await goOn()
    },
  },
  {
    name: 'nodes that dropped what waited',
    async run(world) {
      const goOn = await world.holdBlocks()
      await pause(300)
      await call(world.chainUrl, 'anvil_dropAllTransactions')
      await goOn()
    },
  },
  {
    name: 'an empty purse',
    async run({ chainUrl }, relayer) {
      await fundNative(chainUrl, relayer, 1n)
      await pause(NODE_TROUBLE_MS)
      await fundNative(chainUrl, relayer, PURSE)
    },
  },
  {
    name: 'kill -9',
    async run(world) {
      await world.service().crash()
      await world.restart()
    },
  },
  {
    name: 'kill -9 twice',
    async run(world) {
      await world.service().crash()
      await world.restart()
      await pause(Math.random() * 400)
      await world.service().crash()
      await world.restart()
    },
  },
  {
    name: 'SIGTERM',
    async run(world) {
      world.service().signal('SIGTERM')
      await world.service().exited
      await world.restart()
    },
  },
]
