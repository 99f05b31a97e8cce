import { type Address, encodeFunctionData, type Hex, keccak256, parseAbi, toHex } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { addressTopic, encodeAggregate3, topics, wordOf } from '../../../src/chain/abi.js'
import { encodePermit2Settle, type Permit2Transfer, proxyOf } from '../../../src/chain/permit2.js'
import { createPermit2Uses } from '../../../src/chain/permit2-uses.js'
import type { FoundLog } from '../../../src/chain/receipts.js'
import type { Rpc, RpcResult } from '../../../src/chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import { anRpc } from '../../support/an-rpc.js'

const address = (digit: string): Address => `0x${digit.repeat(40)}`
const hash = (byte: string): Hex => `0x${byte.repeat(32)}`
const exact: Permit2Transfer = {
  asset: address('a'),
  payer: address('b'),
  payTo: address('c'),
  value: 1_000n,
  nonce: hash('0d'),
  permitted: 1_000n,
  deadline: 99n,
  validAfter: 5n,
  facilitator: undefined,
}
const multicall = address('e')
const upto: Permit2Transfer = { ...exact, value: 700n, facilitator: multicall }
const signature: Hex = `0x${'5a'.repeat(65)}`
const proxy = proxyOf(exact)
const contract = address('4')
const HEAD = 20_000
const nonce = BigInt(exact.nonce)

/** A log of a transaction, whose place in its block is its place in the list. */
interface Logged {
  address: Address
  topics: Hex[]
  data: Hex
}
const transfer = ({ asset, payer, payTo, value }: Permit2Transfer = exact): Logged => ({
  address: asset,
  topics: [topics.transfer, addressTopic(payer), addressTopic(payTo)],
  data: `0x${wordOf(value)}`,
})
const settled = (of = exact): Logged => ({
  address: proxyOf(of),
  topics: [topics.settled],
  data: '0x',
})
const cancelled = (word = nonce >> 8n, mask = 1n << (nonce & 255n)): Logged => ({
  address: '0x000000000022d473030f116ddee9f6b43ac78ba3',
  topics: [topics.nonceInvalidation, addressTopic(exact.payer)],
  data: `0x${wordOf(word)}${wordOf(mask)}`,
})
const called = (call: Hex): Logged => ({
  address: multicall,
  topics: [topics.called, keccak256(call)],
  data: '0x',
})

interface Mined {
  hash: Hex
  block: number
  /** `null` where it creates a contract, as nodes write it. */
  to?: Address | null
  input?: Hex
  logs: Logged[]
  /** What nodes trace of it; none does if absent. */
  trace?: object
}

let mined: Mined[]
/** The block in which the nonce was used; nodes have no state of old blocks while it is absent. */
let usedIn: number | undefined
let queries: number
let asked: string[]
beforeEach(() => {
  mined = []
  usedIn = undefined
  queries = 0
  asked = []
})

function logsIn(from: number, to: number): (FoundLog & Logged)[] {
  return [...new Set(mined.map(({ block }) => block))]
    .filter((block) => block >= from && block <= to)
    .sort((a, b) => a - b)
    .flatMap((block) => {
      const own = mined.filter((it) => it.block === block)
      const logs = own.flatMap((it) => it.logs.map((log) => ({ ...log, transactionHash: it.hash })))
      return logs.map((log, index) => ({
        ...log,
        blockNumber: toHex(block),
        logIndex: toHex(index),
      }))
    })
}

const logsOf = ({ hash, block }: Mined) =>
  logsIn(block, block).filter((log) => log.transactionHash === hash)

const isFiltered = ({ topics: [topic] }: Logged) =>
  topic === topics.transfer || topic === topics.nonceInvalidation

const bitmap = (height: number) =>
  `0x${wordOf(usedIn !== undefined && height >= usedIn ? 1n << (nonce & 255n) : 0n)}`

const ok = (value: unknown): RpcResult => ({ ok: true, value })
const rpc = anRpc({
  async request(method, [first]) {
    if (method === 'eth_getBlockByNumber') return { number: first, timestamp: '0x7', hash: first }
    queries++
    const { fromBlock, toBlock } = first as { fromBlock: Hex; toBlock: Hex }
    return logsIn(Number(fromBlock), Number(toBlock)).filter(isFiltered)
  },
  batch: async (calls) =>
    calls.map(({ method, params }): RpcResult => {
      if (method === 'eth_call') {
        return usedIn === undefined
          ? { ok: false, error: new RpcResponseError(-32000, 'missing trie node', undefined) }
          : ok(bitmap(Number(params[1])))
      }
      const found = mined.find((it) => it.hash === params[0]) as Mined
      const { to = contract, input = '0x' } = found
      return ok({ from: exact.payer, to, input })
    }),
  async everywhere(method, [first, second]) {
    asked.push(method)
    if (method === 'eth_call') return [ok(bitmap(Number(second)))]
    if (method === 'eth_getLogs') {
      const { blockHash } = first as { blockHash: Hex }
      return [ok(logsIn(Number(blockHash), Number(blockHash)).filter(isFiltered))]
    }
    if (method === 'eth_getBlockReceipts') {
      const own = mined.filter((it) => it.block === Number(first))
      const receipts = own.map((it) => ({ logs: logsOf(it) }))
      return [ok(receipts.length > 0 ? receipts : [{ logs: [] }])]
    }
    const found = mined.find((it) => it.hash === first)
    if (found === undefined) return [ok(null)]
    if (method === 'debug_traceTransaction') {
      return found.trace === undefined
        ? [{ ok: false, error: new RpcResponseError(-32601, 'no such method', undefined) }]
        : [ok(found.trace)]
    }
    const { block } = found
    const receipt = { transactionHash: found.hash, blockNumber: toHex(block), status: '0x1' }
    return [ok({ ...receipt, logs: logsOf(found) })]
  },
})

const find = (expected = exact, purpose?: 'hint') =>
  createPermit2Uses(rpc, () => 0)(expected, 1_000, HEAD, purpose)

const own = encodePermit2Settle(exact, signature)
const twin = encodePermit2Settle({ ...exact, nonce: hash('0e') }, signature)
const pair = [transfer(), settled()]
const traceOf = (input: Hex, calls: object[]) => ({ type: 'CALL', to: contract, input, calls })
const run = (input: Hex, more = {}) => ({ type: 'CALL', to: proxy, input, ...more })

describe.each([
  ['where nodes have the state of old blocks', true],
  ['where they have not', false],
])('the search for the use of a nonce, %s', (_, hasState) => {
  /** Puts these transactions into blocks; the nonce is used in the block of the first. */
  const mine = (...transactions: Mined[]) => {
    mined = transactions
    if (hasState) usedIn = transactions[0]?.block
  }

  it('finds a direct call with the very arguments', async () => {
    mine({ hash: hash('aa'), block: 1_500, to: proxy, input: own, logs: pair })
    expect(await find()).toMatchObject({ state: 'paid', transferLog: 0, minedAt: 7 })
    expect(await find(exact, 'hint')).toMatchObject({ state: 'paid' })
  })

  it('takes no other call for it, whatever words stand in it', async () => {
    const smuggled = `${twin}${own.slice(10)}` as Hex
    mine(
      { hash: hash('bb'), block: 19_990, logs: [cancelled()] },
      { hash: hash('aa'), block: 19_991, to: proxy, input: smuggled, logs: pair },
    )
    expect(await find()).toEqual({ state: 'cancelled', transaction: hash('bb') })
  })

  it('takes a settlement before a cancellation that came after it, in its block or later', async () => {
    const paid = { hash: hash('aa'), to: proxy, input: own, logs: pair }
    for (const [block, later] of [
      [19_990, 19_990],
      [19_989, 19_990],
      [1_500, 19_990],
    ] as const) {
      mine({ ...paid, block }, { hash: hash('bb'), block: later, logs: [cancelled()] })
      expect(await find()).toMatchObject({ state: 'paid' })
    }
  })

  it('believes no settlement after a cancellation', async () => {
    mine(
      { hash: hash('bb'), block: 19_990, logs: [cancelled()] },
      { hash: hash('aa'), block: 19_990, to: proxy, input: own, logs: pair },
    )
    expect(await find()).toMatchObject({ state: 'cancelled' })
  })

  it('believes no cancellation before a settlement that no receipt shows', async () => {
    mine({ hash: hash('aa'), block: 19_990, to: proxy, input: own, logs: pair })
    const place = { transactionHash: hash('bb'), blockNumber: toHex(19_990), logIndex: '0x0' }
    const invented = { ...cancelled(), ...place }
    const liar: Rpc = {
      ...rpc,
      async request(method, params) {
        const answer = await rpc.request(method, params)
        return Array.isArray(answer) ? [...answer, invented] : answer
      },
      async everywhere(method, params) {
        const answers = await rpc.everywhere(method, params)
        return method === 'eth_getLogs' ? [...answers, { ok: true, value: [invented] }] : answers
      },
    }
    const search = createPermit2Uses(liar, () => 0)
    expect(await search(exact, 1_000, HEAD)).toMatchObject({ state: 'paid' })
  })

  it('names the call of the same nonce that settled something else', async () => {
    const other = encodePermit2Settle({ ...exact, asset: address('9') }, signature)
    mine({ hash: hash('aa'), block: 19_990, to: proxy, input: other, logs: pair })
    expect(await find()).toEqual({ state: 'otherTransfer', transaction: hash('aa') })
  })

  it('finds the call of our multicall that succeeded, and no other', async () => {
    const [first, second] = [
      encodePermit2Settle({ ...upto, nonce: hash('0e') }, signature),
      encodePermit2Settle(upto, signature),
    ]
    const to = proxyOf(upto)
    const input = encodeAggregate3([first, second].map((data) => ({ to, data })))
    const half = (call: Hex) => [transfer(upto), settled(upto), called(call)]
    const both = [...half(first), ...half(second)]
    mine({ hash: hash('aa'), block: 19_990, to: multicall, input, logs: both })
    expect(await find(upto)).toMatchObject({ state: 'paid', transferLog: 3 })
    mine({ hash: hash('aa'), block: 19_990, to: multicall, input, logs: half(first) })
    expect((await find(upto)).state).toBe(hasState ? 'otherUse' : 'notFound')
  })

  it('is searched for anew with each amount that it may have been sent with', async () => {
    const logs = [transfer(upto), settled(upto)]
    mine({ hash: hash('aa'), block: 1_500, input: own, logs })
    const search = createPermit2Uses(rpc, () => 0)
    await search({ ...upto, value: 600n }, 1_000, HEAD)
    expect(await search(upto, 1_000, HEAD)).toMatchObject({ state: 'untraced' })
  })

  describe('in a transaction of another contract', () => {
    const mineOpaque = (trace?: object, logs = pair) =>
      mine({ hash: hash('aa'), block: 19_990, input: own, logs, ...(trace && { trace }) })

    it('cannot decide without a trace', async () => {
      mineOpaque()
      const use = await find()
      expect(use).toMatchObject({ state: 'untraced', receipt: { transactionHash: hash('aa') } })
    })

    it('has a cancellation go before what is not proven', async () => {
      mine(
        { hash: hash('aa'), block: 19_990, input: own, logs: pair },
        { hash: hash('bb'), block: 19_990, logs: [cancelled()] },
      )
      expect(await find()).toEqual({ state: 'cancelled', transaction: hash('bb') })
    })

    it('believes a trace with the call, at its place among twins', async () => {
      mineOpaque(
        traceOf(own, [
          run(twin),
          { type: 'CALL', to: address('3'), input: '0x', calls: [run(own)] },
        ]),
        [...pair, ...pair],
      )
      expect(await find()).toMatchObject({ state: 'paid', transferLog: 2 })
    })

    it.each<[string, object]>([
      ['failed', run(own, { error: 'execution reverted' })],
      [
        'ran in a call that failed',
        { ...run('0x'), to: address('3'), error: 'x', calls: [run(own)] },
      ],
      ['borrowed the code of the proxy', run(own, { type: 'DELEGATECALL' })],
      ['went to another contract', run(own, { to: address('3') })],
    ])('takes no call that %s', async (_, call) => {
      mineOpaque(traceOf(own, [run(twin), call]))
      expect((await find()).state).toBe(hasState ? 'otherUse' : 'notFound')
    })

    it('names the transaction whose trace uses the nonce for something else', async () => {
      const other = encodePermit2Settle({ ...exact, asset: address('9') }, signature)
      mineOpaque(traceOf(own, [run(other)]))
      expect(await find()).toEqual({ state: 'otherTransfer', transaction: hash('aa') })
    })

    it.each<[string, object]>([
      ['of another transaction', traceOf(twin, [run(own)])],
      ['with more settlements than were logged', traceOf(own, [run(twin), run(own)])],
      ['with fewer', traceOf(own, [])],
      ['of no shape', { structLogs: [] }],
    ])('does not believe a trace %s', async (_, trace) => {
      mineOpaque(trace)
      expect((await find()).state).toBe('untraced')
    })

    it('believes the trace of a transaction that created a contract', async () => {
      const trace = { ...traceOf(own, [run(own)]), type: 'CREATE', to: address('5') }
      mine({ hash: hash('aa'), block: 19_990, to: null, input: own, logs: pair, trace })
      expect(await find()).toMatchObject({ state: 'paid', transferLog: 0 })
    })

    it.each<[string, object, string]>([
      ['cuts its trace short', traceOf(own, []), 'paid'],
      ['has a frame that is none', traceOf(own, [null as never]), 'paid'],
      ['shows another call', traceOf(own, [run(twin)]), 'untraced'],
    ])('decides by what nodes agree on where one %s', async (_, other, state) => {
      mineOpaque(traceOf(own, [run(own)]))
      const nodes: Rpc = {
        ...rpc,
        async everywhere(method, params) {
          const answers = await rpc.everywhere(method, params)
          const isTrace = method === 'debug_traceTransaction'
          return isTrace ? [{ ok: true, value: other }, ...answers] : answers
        },
      }
      const use = await createPermit2Uses(nodes, () => 0)(exact, 1_000, HEAD)
      expect(use.state).toBe(state)
    })

    it('asks for a trace that no node gives ever more seldom', async () => {
      mineOpaque()
      let now = 0
      const search = createPermit2Uses(rpc, () => now)
      for (; now < 3_600_000; now += 30_000) {
        expect((await search(exact, 1_000, HEAD)).state).toBe('untraced')
      }
      const traces = asked.filter((method) => method === 'debug_traceTransaction')
      expect(traces.length).toBeGreaterThan(4)
      expect(traces.length).toBeLessThan(12)
    })

    it('traces nothing for a hint, and one transaction once', async () => {
      mineOpaque(traceOf(own, [run(own)]))
      expect((await find(exact, 'hint')).state).toBe('untraced')
      expect(asked).not.toContain('debug_traceTransaction')
      const search = createPermit2Uses(rpc, () => 0)
      for (let i = 0; i < 3; i++) {
        expect((await search(exact, 1_000, HEAD)).state).toBe('paid')
      }
      expect(asked.filter((method) => method === 'debug_traceTransaction')).toHaveLength(1)
    })
  })
})

describe('a recent use', () => {
  const search = () => createPermit2Uses(rpc, () => 0)(exact, HEAD - 100, HEAD)
  const states = () => asked.filter((method) => method === 'eth_call').length

  it('by a direct call is found by one query, without the state of any block', async () => {
    usedIn = 19_990
    mined = [{ hash: hash('aa'), block: 19_990, to: proxy, input: own, logs: pair }]
    expect(await search()).toMatchObject({ state: 'paid' })
    expect([queries, states()]).toEqual([1, 0])
  })

  it('is no cancellation of a nonce that a contract had used in an older block', async () => {
    usedIn = 19_990
    const trace = traceOf(own, [run(own)])
    mined = [
      { hash: hash('aa'), block: 19_990, input: own, logs: pair, trace },
      { hash: hash('bb'), block: 19_995, logs: [cancelled()] },
    ]
    expect(await search()).toMatchObject({ state: 'paid' })
    mined = [{ ...(mined[0] as Mined), trace: {} }, ...mined.slice(1)]
    expect((await search()).state).toBe('untraced')
  })
})

describe('the block in which a nonce was used', () => {
  it.each([1_001, 1_002, 1_500, 12_345, HEAD - 1, HEAD])('is found: %i', async (block) => {
    usedIn = block
    expect(await find()).toEqual({ state: 'otherUse', blockNumber: block })
    expect(queries).toBe(0)
  })

  it('is not believed where a node shows another, and then every block is searched', async () => {
    usedIn = 1_500
    const { everywhere } = rpc
    const liar: Rpc = {
      ...rpc,
      async everywhere(method, params, options) {
        const answers = await everywhere(method, params, options)
        return method === 'eth_call'
          ? [...answers, { ok: true, value: `0x${wordOf(0n)}` }]
          : answers
      },
    }
    const use = await createPermit2Uses(liar, () => 0)(exact, 1_000, HEAD)
    expect(use).toEqual({ state: 'notFound', isFinal: false })
  })

  it('is read from its receipts where nodes hide its logs', async () => {
    usedIn = 1_500
    mined = [{ hash: hash('aa'), block: 1_500, to: proxy, input: own, logs: pair }]
    const hidden: Rpc = {
      ...rpc,
      everywhere: async (method, params) =>
        method === 'eth_getLogs' ? [{ ok: true, value: [] }] : rpc.everywhere(method, params),
    }
    const search = createPermit2Uses(hidden, () => 0)
    expect(await search(exact, 1_000, HEAD)).toMatchObject({ state: 'paid' })
  })

  it('without its receipts is no proof that something else used it', async () => {
    usedIn = 1_500
    const forgetful: Rpc = {
      ...rpc,
      everywhere: async (method, params) =>
        method === 'eth_getBlockReceipts'
          ? [{ ok: true, value: [] }]
          : rpc.everywhere(method, params),
    }
    const search = createPermit2Uses(forgetful, () => 0)
    const use = await search(exact, 1_000, HEAD)
    expect(use).toEqual({ state: 'notFound', isFinal: false })
  })

  it('must be there with its logs: a node that lacks it is no proof', async () => {
    usedIn = 1_500
    const lagging: Rpc = {
      ...rpc,
      everywhere: async () => [
        { ok: false, error: new RpcResponseError(-32000, 'unknown block', 0) },
      ],
    }
    const search = createPermit2Uses(lagging, () => 0)
    await expect(search(exact, 1_000, HEAD)).rejects.toThrow(RpcUnavailableError)
  })
})

describe('without the state of old blocks', () => {
  it.each([
    ['of another bit', cancelled(nonce >> 8n, ~(1n << (nonce & 255n)) & (2n ** 256n - 1n))],
    ['of another word', cancelled((nonce >> 8n) + 1n)],
  ])('no cancellation %s is taken for that of the nonce', async (_, log) => {
    mined = [{ hash: hash('bb'), block: 19_990, logs: [log] }]
    expect((await find()).state).toBe('notFound')
  })

  it('settlements and cancellations are asked for in one query', async () => {
    mined = [{ hash: hash('bb'), block: 19_990, logs: [cancelled()] }]
    const use = await createPermit2Uses(rpc)(exact, HEAD - 100, HEAD)
    expect(use).toEqual({ state: 'cancelled', transaction: hash('bb') })
    // Once for what needs no trace, and once more with traces.
    expect(queries).toBe(2)
  })

  it('a cancellation is reported once every older block was searched', async () => {
    mined = [{ hash: hash('bb'), block: 19_990, logs: [cancelled()] }]
    expect(await find()).toMatchObject({ state: 'cancelled', transaction: hash('bb') })
    expect(queries).toBe(4)
  })

  it('an old transaction that nobody traces is no failure, and a later cancellation goes before it', async () => {
    const opaque = { hash: hash('aa'), block: 1_500, input: own, logs: pair }
    mined = [opaque]
    const search = createPermit2Uses(rpc, () => 0)
    for (let i = 0; i < 3; i++) expect((await search(exact, 1_000, HEAD)).state).toBe('untraced')
    mined = [opaque, { hash: hash('bb'), block: 19_990, logs: [cancelled()] }]
    expect((await find()).state).toBe('cancelled')
  })
})

it('words that a stranger hid in another argument are no call of the multicall', async () => {
  // The call itself is of another contract, and the words of ours are its argument.
  const abi = parseAbi(['function note(bytes words)'])
  const data = encodeFunctionData({ abi, functionName: 'note', args: [own] })
  mined = [{ hash: hash('aa'), block: 19_990, input: data, logs: pair }]
  expect((await find()).state).toBe('untraced')
})
