import { type Address, type Hex, hexToNumber, numberToHex } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  createCodedReader,
  readActiveIn,
  readGasMoney,
  readTransactionCount,
} from '../../../src/chain/accounts.js'
import { RpcResponseError, RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import { anRpc } from '../../support/an-rpc.js'

const account = (i: number): Address => numberToHex(i, { size: 20 })
const [plain, wallet, other] = [account(1), account(2), account(3)]

it('the count of an account is the one of the node that has seen most', async () => {
  const error = new RpcUnavailableError('away')
  const countOf = (...answers: (Hex | null)[]) =>
    readTransactionCount(
      anRpc({
        everywhere: async () =>
          answers.map((value) => (value === null ? { ok: false, error } : { ok: true, value })),
      }),
      plain,
    )
  expect(await countOf('0x1f', '0x20', null, '0x1e')).toBe(32)
  await expect(countOf(null)).rejects.toThrow(RpcUnavailableError)
})

it('the gas money of an account is that of the newest block', async () => {
  const rpc = anRpc({
    request: async (_method, [address, at]) => (address === plain && at === 'latest' ? '0x1f' : ''),
  })
  expect(await readGasMoney(rpc, plain)).toBe(31n)
})

describe('which accounts have code', () => {
  /** A node at which these accounts have code; `answer` gives another answer. */
  function aNode(coded: readonly Address[], answer?: Hex) {
    const asked: { data: Hex; gas: Hex; at: unknown }[] = []
    const rpc = anRpc({
      async request(_method, [call, at]) {
        const { data, gas } = call as { data: Hex; gas: Hex }
        asked.push({ data, gas, at })
        const accounts = data.slice(-40 * 2).match(/.{40}/g) ?? []
        const bytes = accounts.map((it) => (coded.includes(`0x${it}`) ? '01' : '00'))
        return answer ?? `0x${bytes.join('')}`
      },
    })
    return { read: createCodedReader(rpc), asked }
  }

  it('is read in one call, each account once', async () => {
    const { read, asked } = aNode([wallet])
    expect(await read([plain, wallet, plain])).toEqual(new Set([wallet]))
    expect(await read([wallet, plain], 255)).toEqual(new Set([wallet]))
    expect(asked.map(({ at }) => at)).toEqual(['latest', '0xff'])
    for (const { gas } of asked) expect(hexToNumber(gas)).toBe(207_000)
  })

  it('is not asked of none', async () => {
    const { read, asked } = aNode([])
    expect(await read([])).toEqual(new Set())
    expect(asked).toEqual([])
  })

  it('is not asked of more than a call can hold', async () => {
    const { read } = aNode([], `0x${'00'.repeat(2_000)}`)
    const accounts = Array.from({ length: 2_001 }, (_, i) => account(i))
    await expect(read(accounts)).rejects.toThrow('2001 accounts are too many')
    expect(await read(accounts.slice(1))).toEqual(new Set())
  })

  it('is not known from an answer of another length', async () => {
    const { read } = aNode([], '0x01')
    await expect(read([plain, wallet])).rejects.toThrow(RpcUnavailableError)
  })
})

it('accounts that used a nonce of their own in a block are those whose count has changed in it', async () => {
  const counts: Record<string, [before: Hex, after: Hex]> = {
    [plain]: ['0x1', '0x1'],
    [wallet]: ['0x1', '0x2'],
  }
  const rpc = anRpc({
    batch: async (calls) =>
      calls.map(({ params: [address, at] }) => {
        const [before, after] = counts[String(address)] ?? []
        const value = at === '0x6' ? before : after
        return value === undefined
          ? { ok: false, error: new RpcResponseError(-32_000, 'pruned', undefined) }
          : { ok: true, value }
      }),
  })
  expect(await readActiveIn(rpc, [plain, wallet, other], 7)).toEqual([wallet])
})
