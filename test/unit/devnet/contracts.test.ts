import {
  type Address,
  concat,
  createTestClient,
  encodePacked,
  type Hex,
  http,
  publicActions,
  toHex,
  walletActions,
} from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { paymentFactsCode } from '../../../src/chain/creation-code.js'
import { devnetMerchant, devnetPayer } from '../../../src/devnet/accounts.js'
import { type Anvil, startAnvil } from '../../../src/devnet/anvil.js'
import { devnetContracts, placeContracts, readArtifact } from '../../../src/devnet/fixtures.js'
import { anAccount } from '../../support/an-account.js'

const { usdc } = devnetContracts
const { abi } = readArtifact('MockUsdc')
const anyone = devnetPayer.account
const merchant = devnetMerchant.address
const far = 2n ** 40n

let anvil: Anvil
let client: ReturnType<typeof connect>

const connect = (url: string) =>
  createTestClient({ mode: 'anvil', account: anyone, transport: http(url), pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)

beforeAll(async () => {
  anvil = await startAnvil()
  client = connect(anvil.url)
  await placeContracts(anvil.url)
})

afterAll(() => anvil?.stop())

type Authorization = {
  from: Address
  to: Address
  value: bigint
  validAfter: bigint
  validBefore: bigint
  nonce: Hex
}

const authorizationFields = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

const domain = { name: 'USDC', version: '2', chainId: 5042, verifyingContract: usdc } as const
type Account = ReturnType<typeof anAccount>

function anAuthorization(from: Address, changes: Partial<Authorization> = {}): Authorization {
  const nonce = generatePrivateKey()
  return { from, to: merchant, value: 5n, validAfter: 0n, validBefore: far, nonce, ...changes }
}

function sign(account: Account, message: Authorization): Promise<Hex> {
  const primaryType = 'TransferWithAuthorization'
  const types = { [primaryType]: authorizationFields }
  return account.signTypedData({ domain, types, primaryType, message })
}

const argsOf = (a: Authorization, ...signature: unknown[]) => [
  ...[a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce],
  ...signature,
]

async function send(functionName: string, args: unknown[]) {
  const hash = await client.writeContract({ address: usdc, abi, functionName, args, chain: null })
  return client.waitForTransactionReceipt({ hash })
}

async function aPayer(balance = 100n): Promise<Account> {
  const account = anAccount()
  await send('mint', [account.address, balance])
  return account
}

describe('PaymentFacts', () => {
  type Member = { payer: Address; payTo: Address; nonce: Hex }
  const nonce = generatePrivateKey()
  const hasBlocklist = 1
  const hasPause = 2

  async function readFacts(asset: Address, flags: number, members: Member[]) {
    const packed = members.map((member) =>
      encodePacked(['address', 'address', 'bytes32'], [member.payer, member.payTo, member.nonce]),
    )
    const head = concat([paymentFactsCode, asset, toHex(flags, { size: 1 })])
    const { data = '0x' } = await client.call({ data: concat([head, ...packed]), gas: 29_000_000n })
    const words = (data.slice(2).match(/.{64}/g) ?? []).map((word) => `0x${word}` as Hex)
    const [header = '0x', ...rest] = words
    const pairs = members.map((_, i) => [rest[2 * i], rest[2 * i + 1]].map((w) => BigInt(w ?? -1)))
    return { header, pairs, size: (data.length - 2) / 2 }
  }

  it('returns the facts that the chain has about each payment', async () => {
    const payer = await aPayer()
    const used = anAuthorization(payer.address)
    await send('transferWithAuthorization', argsOf(used, await sign(payer, used)))
    const listed = anAccount().address
    await send('blacklist', [listed])
    const wallet = anAccount().address
    const bytecode = readArtifact('RejectingWallet').deployedBytecode
    await client.setCode({ address: wallet, bytecode })
    await send('mint', [wallet, 100n])
    const { header, pairs, size } = await readFacts(usdc, hasBlocklist | hasPause, [
      { payer: payer.address, payTo: merchant, nonce },
      { payer: payer.address, payTo: merchant, nonce: used.nonce },
      { payer: listed, payTo: merchant, nonce },
      { payer: payer.address, payTo: listed, nonce },
      { payer: wallet, payTo: merchant, nonce },
    ])
    expect(size).toBe(32 + 5 * 64)
    expect(pairs).toEqual([
      [95n, 1n],
      [95n, 1n | 2n],
      [0n, 1n | 4n],
      [95n, 1n | 8n],
      [100n, 1n | 16n],
    ])
    const block = await client.getBlock()
    const time = toHex(block.timestamp, { size: 8 })
    expect(header.slice(0, 6)).toBe('0x0000')
    expect(BigInt(`0x${header.slice(6, 22)}`)).toBeGreaterThanOrEqual(BigInt(time))
    expect(BigInt(`0x${header.slice(22, 38)}`)).toBeGreaterThanOrEqual(block.number)
    expect(header.slice(38)).toBe('0'.repeat(28))
  })

  it('says when the token is paused', async () => {
    await send('pause', [])
    const { header } = await readFacts(usdc, hasPause, [])
    await send('unpause', [])
    expect(header.slice(0, 6)).toBe('0x0001')
  })

  it('marks a token without a blocklist, unless the blocklist is not asked', async () => {
    // This code answers 1 to every call except isBlacklisted and paused, which revert.
    const plain = anAccount().address
    const bytecode = '0x5f3560e01c8063fe575a8714602057635c975abb1460205760015f5260205ff35b5f5ffd'
    await client.setCode({ address: plain, bytecode })
    const member = { payer: anyone.address, payTo: merchant, nonce }
    expect((await readFacts(plain, 0, [member])).pairs).toEqual([[1n, 1n | 2n]])
    expect((await readFacts(plain, hasBlocklist, [member])).pairs).toEqual([[1n, 2n]])
    expect((await readFacts(plain, hasPause, [member])).pairs).toEqual([[1n, 2n]])
    expect((await readFacts(anAccount().address, 0, [member])).pairs).toEqual([[0n, 0n]])
  })

  it('answers 200 payments in one call', async () => {
    const members = Array.from({ length: 200 }, () => ({
      payer: anAccount().address,
      payTo: merchant,
      nonce,
    }))
    const { pairs } = await readFacts(usdc, hasBlocklist | hasPause, members)
    expect(pairs).toEqual(members.map(() => [0n, 1n]))
  })
})
