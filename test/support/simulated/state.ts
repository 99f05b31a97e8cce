import { type Address, encodeAbiParameters, type Hex, hexToBigInt, parseAbiParameters } from 'viem'
import {
  addressOf,
  addressTopic,
  callsOf,
  selectors,
  topics,
  wordOf,
} from '../../../src/chain/abi.js'
import { PAYER_HAS_CODE, PAYER_IS_SHORT } from '../../../src/chain/deployments.js'

/** What the code of an account does when it is asked about a signature: it agrees, or burns all gas outside a simulation. */
export type Code = 'agrees' | 'burns'

/** The state after a block. */
export interface State {
  /** 18-decimal units. */
  gasMoney: Map<Address, bigint>
  /** 6-decimal units, by `asset/holder`. */
  tokens: Map<string, bigint>
  /** Transactions of each account. */
  counts: Map<Address, number>
  /** Used authorizations, by `asset/payer/nonce`. */
  used: Set<string>
  code: Map<Address, Code>
  blocked: Set<Address>
  /** What the token keeps of each transfer, 6-decimal units. */
  kept: bigint
}

export function newState(): State {
  return {
    gasMoney: new Map(),
    tokens: new Map(),
    counts: new Map(),
    used: new Set(),
    code: new Map(),
    blocked: new Set(),
    kept: 0n,
  }
}

export function copyOf({ gasMoney, tokens, counts, used, code, blocked, kept }: State): State {
  return {
    gasMoney: new Map(gasMoney),
    tokens: new Map(tokens),
    counts: new Map(counts),
    used: new Set(used),
    code: new Map(code),
    blocked: new Set(blocked),
    kept,
  }
}

export interface Call {
  to: Address
  data: Hex
  gas: bigint
}

export interface Log {
  address: Address
  topics: Hex[]
  data: Hex
}

/** What a call did, or would do. */
export interface Result {
  isSuccess: boolean
  gasUsed: bigint
  logs: Log[]
  /** The text of the revert; `undefined` where it ran out of gas. */
  revert?: string | undefined
  /** What `aggregate3` returns. */
  output: Hex
}

export const BASE_GAS = 21_000n
export const PAYMENT_GAS = 70_000n
export const FAILED_GAS = 24_000n
export const SKIPPED_GAS = 3_000n
/** The multicall of the relayers. */
export const GUARD: Address = `0x${'9a'.repeat(20)}`
const memberResults = parseAbiParameters('(bool success, bytes returnData)[]')
const errorText = parseAbiParameters('string')

interface When {
  /** Unix seconds. */
  seconds: number
  isSimulation: boolean
}

/** Runs a transaction on the state, which it changes where the transaction succeeds. */
export function run(state: State, { to, data, gas }: Call, when: When): Result {
  const failed = (gasUsed: bigint, revert?: string): Result => {
    return { isSuccess: false, gasUsed, logs: [], revert, output: '0x' }
  }
  const after = copyOf(state)
  const calls = callsOf({ to, data })
  const members = calls.map((call) => (to === GUARD && skip(after, call)) || pay(after, call, when))
  if (members.some((member) => member === 'burns')) return failed(gas)
  const done = members as Member[]
  const gasUsed = done.reduce((sum, member) => sum + member.gas, BASE_GAS)
  if (gasUsed > gas) return failed(gas)
  const [only] = done
  if (done.length === 1 && only?.revert !== undefined) return failed(gasUsed, only.revert)
  Object.assign(state, after)
  const results = done.map(({ revert }) => ({
    success: revert === undefined,
    returnData: revert === undefined ? ('0x' as const) : encodeError(revert),
  }))
  const output = encodeAbiParameters(memberResults, [results])
  return { isSuccess: true, gasUsed, logs: done.flatMap(({ logs }) => logs), output }
}

/** Runs what the multicall of the relayers looks at before a payment; `undefined` where the payment is tried. */
function skip(state: State, call: Omit<Call, 'gas'>): Member | undefined {
  const word = (i: number): Hex => `0x${call.data.slice(10 + i * 64, 74 + i * 64)}`
  const from = addressOf(word(0))
  const held = state.tokens.get(`${call.to}/${from}`) ?? 0n
  if (held < hexToBigInt(word(2))) return { gas: SKIPPED_GAS, logs: [], revert: PAYER_IS_SHORT }
  if (state.code.has(from)) return { gas: SKIPPED_GAS, logs: [], revert: PAYER_HAS_CODE }
  return undefined
}

export function encodeError(text: string): Hex {
  if (text.startsWith('custom error ')) return text.slice('custom error '.length) as Hex
  return `0x08c379a0${encodeAbiParameters(errorText, [text]).slice(2)}`
}

interface Member {
  gas: bigint
  logs: Log[]
  revert?: string
}

/** Runs `transferWithAuthorization` as Circle's FiatToken does; any other call does nothing. */
function pay(state: State, call: Omit<Call, 'gas'>, when: When): Member | 'burns' {
  if (!call.data.startsWith(selectors.transferWithAuthorization)) return { gas: 0n, logs: [] }
  const word = (i: number): Hex => `0x${call.data.slice(10 + i * 64, 74 + i * 64)}`
  const [from, payTo] = [addressOf(word(0)), addressOf(word(1))]
  const [value, validAfter, validBefore] = [2, 3, 4].map((i) => hexToBigInt(word(i))) as [
    bigint,
    bigint,
    bigint,
  ]
  const asset = call.to
  const use = `${asset}/${from}/${word(5)}`
  const code = state.code.get(from)
  if (code === 'burns' && !when.isSimulation) return 'burns'
  const held = state.tokens.get(`${asset}/${from}`) ?? 0n
  const problems: [boolean, string][] = [
    [state.blocked.has(from), 'Blacklistable: account is blacklisted'],
    [validAfter >= BigInt(when.seconds), 'FiatTokenV2: authorization is not yet valid'],
    [validBefore <= BigInt(when.seconds), 'FiatTokenV2: authorization is expired'],
    [state.used.has(use), 'FiatTokenV2: authorization is used or canceled'],
    [held < value, 'ERC20: transfer amount exceeds balance'],
  ]
  const revert = problems.find(([is]) => is)?.[1]
  if (revert !== undefined) return { gas: FAILED_GAS, logs: [], revert }
  state.used.add(use)
  state.tokens.set(`${asset}/${from}`, held - value)
  const moved = value - state.kept
  state.tokens.set(`${asset}/${payTo}`, (state.tokens.get(`${asset}/${payTo}`) ?? 0n) + moved)
  const logs: Log[] = [
    { address: asset, topics: [topics.authorizationUsed, addressTopic(from), word(5)], data: '0x' },
    {
      address: asset,
      topics: [topics.transfer, addressTopic(from), addressTopic(payTo)],
      data: `0x${wordOf(moved)}`,
    },
  ]
  return { gas: PAYMENT_GAS, logs }
}
