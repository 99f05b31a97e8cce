import { setImmediate as nextTurn } from 'node:timers/promises'
import { computeDomainSeparator } from '@arcus/protocol/x402/authorization-digest'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { bytesToHex, decodeFunctionData, encodeFunctionResult, type Hex, parseAbi } from 'viem'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { RpcResult } from '../../../src/chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import { readToken, TokenMismatchError, watchToken } from '../../../src/chain/token.js'
import { anRpc } from '../../support/an-rpc.js'

const keccak256 = await createKeccak256()
const place = {
  network: 'eip155:5042',
  chainId: 5042,
  asset: '0x89B50855aA3be2F677cD6303Cec089B5F319D72a',
} as const
const address = place.asset.toLowerCase()
const abi = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function authorizationState(address, bytes32) view returns (bool)',
  'function isBlacklisted(address) view returns (bool)',
  'function paused() view returns (bool)',
])

const separatorOf = (name: string, version = '2'): Hex =>
  bytesToHex(
    computeDomainSeparator(keccak256, {
      name,
      version,
      chainId: 5042,
      verifyingContract: place.asset,
    }),
  )

/** The answers of a token of Circle. */
const usual = {
  name: 'EURC',
  version: '2',
  symbol: 'EURC',
  decimals: 6,
  DOMAIN_SEPARATOR: separatorOf('EURC'),
  authorizationState: false,
  isBlacklisted: false,
  paused: false,
} as const

interface TokenChanges {
  answers?: { [Name in keyof typeof usual]?: unknown }
  chainId?: number
  hasCode?: boolean
  isAway?: boolean
}

/** A node with a token that answers the usual, but for these changes; it reverts where an answer is `undefined`. */
function aNode(changes: TokenChanges = {}) {
  const state = changes
  const read = (method: string, params: readonly unknown[]): RpcResult => {
    const { chainId = 5042, hasCode = true, answers = {} } = state
    if (method === 'eth_chainId') return { ok: true, value: `0x${chainId.toString(16)}` }
    if (method === 'eth_getCode') return { ok: true, value: hasCode ? '0x60' : '0x' }
    const { data } = params[0] as { data: Hex }
    const { functionName } = decodeFunctionData({ abi, data })
    const result = functionName in answers ? answers[functionName] : usual[functionName]
    if (result === undefined) {
      return { ok: false, error: new RpcResponseError(3, 'execution reverted', '0x') }
    }
    const value = encodeFunctionResult({ abi, functionName, result } as never)
    return { ok: true, value }
  }
  const rpc = anRpc({
    async batch(calls) {
      if (state.isAway) throw new RpcUnavailableError('away')
      return calls.map(({ method, params }) => read(method, params))
    },
  })
  return { rpc, state }
}

const pin = (changes?: TokenChanges) => readToken(aNode(changes).rpc, keccak256, place)

describe('a token', () => {
  it('is pinned with its domain and what it can do', async () => {
    expect(await pin()).toMatchObject({
      network: place.network,
      chainId: 5042,
      address,
      name: 'EURC',
      version: '2',
      symbol: 'EURC',
      currency: 'EUR',
      hasBlocklist: true,
      hasPause: true,
    })
    const bare = await pin({ answers: { isBlacklisted: undefined, paused: undefined } })
    expect(bare).toMatchObject({ hasBlocklist: false, hasPause: false })
    const unknown = await pin({ answers: { symbol: 'XAU' } })
    expect([unknown.symbol, unknown.currency]).toEqual(['XAU', null])
  })

  it.each<[string, TokenChanges, RegExp]>([
    ['on another chain', { chainId: 1 }, /serves chain id 1, expected 5042$/],
    ['without code', { hasCode: false }, /^there is no contract at asset 0x89b5/],
    ['without a name', { answers: { name: undefined } }, /does not answer name\(\), so it has no/],
    ['with an empty name', { answers: { name: '' } }, /does not answer name\(\), so it has no/],
    ['without a version', { answers: { version: undefined } }, /does not answer version\(\)/],
    ['without a symbol', { answers: { symbol: undefined } }, /so nobody could say what it is$/],
    ['without EIP-3009', { answers: { authorizationState: undefined } }, /no authorizationState/],
    ['with other decimals', { answers: { decimals: 18 } }, /\(EURC\) has 18 decimals, and only/],
    ['without decimals', { answers: { decimals: undefined } }, /has no decimals/],
    [
      'with the domain of another name',
      { answers: { DOMAIN_SEPARATOR: separatorOf('Euro Coin') } },
      /says DOMAIN_SEPARATOR 0x\w+, its name "EURC" and version "2" give 0x/,
    ],
    ['without a domain', { answers: { DOMAIN_SEPARATOR: undefined } }, /DOMAIN_SEPARATOR nothing/],
  ])('%s is not settled', async (_, changes, message) => {
    const refused = pin(changes)
    await expect(refused).rejects.toThrow(TokenMismatchError)
    await expect(refused).rejects.toThrow(message)
  })

  it('is not known while no node answers', async () => {
    await expect(pin({ isAway: true })).rejects.toThrow(RpcUnavailableError)
  })
})

describe('a pinned token', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  async function watched() {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { rpc, state } = aNode()
    const said: string[] = []
    const log = { error: (_details: object, message: string) => said.push(message) }
    const watch = watchToken(rpc, keccak256, await readToken(rpc, keccak256, place), log)
    onTestFinished(() => watch.stop())
    /** Lets so much time pass, and the reads of it end. */
    async function pass(ms: number) {
      vi.advanceTimersByTime(ms)
      for (let turns = 0; turns < 20; turns++) await nextTurn()
    }
    return { watch, state, said, pass }
  }

  it('is read again every hour, and verified again once it is itself again', async () => {
    const { watch, state, said, pass } = await watched()
    state.hasCode = false
    await pass(3_599_999)
    expect(watch.mismatch()).toBeUndefined()
    await pass(1)
    expect(watch.mismatch()?.message).toMatch(/no contract/)
    expect(said).toEqual(['payments in this token are not verified'])
    state.hasCode = true
    state.isAway = true
    await pass(3_600_000)
    expect(watch.mismatch()?.message).toMatch(/no contract/)
    state.isAway = false
    await pass(3_600_000)
    expect(watch.mismatch()).toBeUndefined()
    watch.stop()
    state.hasCode = false
    await pass(7_200_000)
    expect(watch.mismatch()).toBeUndefined()
  })

  it.each<[string, TokenChanges['answers'], RegExp]>([
    [
      'name',
      { name: 'Euro', DOMAIN_SEPARATOR: separatorOf('Euro') },
      /is now "Euro" version "2", pinned was "EURC" version "2"/,
    ],
    [
      'version',
      { version: '3', DOMAIN_SEPARATOR: separatorOf('EURC', '3') },
      /is now "EURC" version "3"/,
    ],
    ['symbol', { symbol: 'EUR' }, /symbol of the token is now "EUR", pinned was "EURC"/],
  ])('whose %s was changed by its admin is another one', async (_, answers = {}, message) => {
    const { watch, state } = await watched()
    state.answers = answers
    await expect(watch.read()).rejects.toThrow(message)
    expect(watch.mismatch()?.message).toMatch(message)
  })

  it('that a node cannot read has not changed', async () => {
    const { watch, state, said } = await watched()
    state.isAway = true
    await expect(watch.read()).rejects.toThrow(RpcUnavailableError)
    expect([watch.mismatch(), said]).toEqual([undefined, []])
  })
})
