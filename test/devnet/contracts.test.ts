import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  concat,
  createTestClient,
  encodeFunctionData,
  encodePacked,
  type Hex,
  http,
  keccak256,
  pad,
  parseSignature,
  publicActions,
  stringToHex,
  toHex,
  walletActions,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { paymentFactsCode } from '../../src/chain/creation-code.js'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { type Anvil, startAnvil } from '../../src/devnet/anvil.js'
import { devnetContracts, placeContracts, readArtifact } from '../../src/devnet/fixtures.js'

const { usdc, nativeTransferLog } = devnetContracts
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
const anAccount = () => privateKeyToAccount(generatePrivateKey())
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

const read = (functionName: string, args: unknown[] = []) =>
  client.readContract({ address: usdc, abi, functionName, args })

/** Returns the revert text of a call, `undefined` when it succeeds. */
async function revertOf(functionName: string, args: unknown[]) {
  try {
    await client.simulateContract({ address: usdc, abi, functionName, args, account: anyone })
    return undefined
  } catch (error) {
    const revert =
      error instanceof BaseError && error.walk((e) => e instanceof ContractFunctionRevertedError)
    if (revert instanceof ContractFunctionRevertedError) return revert.reason
    throw error
  }
}

const transferRevert = (a: Authorization, signature: Hex) =>
  revertOf('transferWithAuthorization', argsOf(a, signature))

async function aPayer(balance = 100n): Promise<Account> {
  const account = anAccount()
  await send('mint', [account.address, balance])
  return account
}

// Signatures are judged in `test/property/signer-recovery.test.ts`, wallets and permits in `test/chain`.
describe('MockUsdc', () => {
  it('has the EIP-712 domain of USDC on Arc mainnet', async () => {
    expect(await read('DOMAIN_SEPARATOR')).toBe(
      '0x940506929bba468048a19b567f4f0d534714bc06604b5c3017e5d16785ccdf84',
    )
    const names = ['name', 'symbol', 'version', 'decimals']
    expect(await Promise.all(names.map((name) => read(name)))).toEqual(['USDC', 'USDC', '2', 6])
  })

  it('accepts an authorization in both overloads and logs the transfer twice', async () => {
    const payer = await aPayer()
    const first = anAuthorization(payer.address)
    const { logs } = await send(
      'transferWithAuthorization',
      argsOf(first, await sign(payer, first)),
    )
    const topics = [pad(payer.address), pad(merchant)].map((topic) => topic.toLowerCase())
    const transfer = keccak256(stringToHex('Transfer(address,address,uint256)'))
    const used = keccak256(stringToHex('AuthorizationUsed(address,bytes32)'))
    expect(logs.map((log) => [log.address, log.topics, log.data])).toEqual([
      [usdc, [used, topics[0], first.nonce], '0x'],
      [nativeTransferLog, [transfer, ...topics], pad(toHex(5n * 10n ** 12n))],
      [usdc, [transfer, ...topics], pad(toHex(5n))],
    ])

    const second = anAuthorization(payer.address)
    const { r, s, v } = parseSignature(await sign(payer, second))
    await send('transferWithAuthorization', argsOf(second, Number(v), r, s))
    expect(await read('balanceOf', [payer.address])).toBe(90n)
    expect(await read('authorizationState', [payer.address, second.nonce])).toBe(true)
  })

  it('works without the native log', async () => {
    const code = await client.getCode({ address: nativeTransferLog })
    await client.setCode({ address: nativeTransferLog, bytecode: '0x' })
    const { logs } = await send('mint', [merchant, 1n])
    expect(logs.map((log) => log.address)).toEqual([usdc, usdc])
    await client.setCode({ address: nativeTransferLog, bytecode: code ?? '0x' })
  })

  it('enforces the time window strictly at both ends', async () => {
    const payer = await aPayer()
    const now = BigInt(Math.floor(Date.now() / 1000)) + 1000n
    const statusAt = async (changes: Partial<Authorization>) => {
      const a = anAuthorization(payer.address, changes)
      const args = argsOf(a, await sign(payer, a))
      const data = encodeFunctionData({ abi, functionName: 'transferWithAuthorization', args })
      const call = client.call({ to: usdc, data, blockOverrides: { time: now } })
      return call.then(() => 'ok').catch((error: BaseError) => error.message)
    }
    expect(await statusAt({ validAfter: now - 1n, validBefore: now + 1n })).toBe('ok')
    expect(await statusAt({ validAfter: now })).toContain('not yet valid')
    expect(await statusAt({ validBefore: now })).toContain('expired')
  })

  it('refuses an authorization that is used or cancelled, in that order before the signature', async () => {
    const payer = await aPayer()
    const used = anAuthorization(payer.address)
    await send('transferWithAuthorization', argsOf(used, await sign(payer, used)))
    expect(await transferRevert(used, '0x')).toBe('FiatTokenV2: authorization is used or canceled')

    const cancelled = anAuthorization(payer.address)
    const { nonce } = cancelled
    const signature = await payer.signTypedData({
      domain,
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'CancelAuthorization',
      message: { authorizer: payer.address, nonce },
    })
    const { r, s, v } = parseSignature(signature)
    const parts = [payer.address, nonce, Number(v), r, s]
    expect(await revertOf('cancelAuthorization', parts)).toBeUndefined()
    await send('cancelAuthorization', [payer.address, nonce, signature])
    const text = await transferRevert(cancelled, await sign(payer, cancelled))
    expect(text).toBe('FiatTokenV2: authorization is used or canceled')
  })

  it('refuses while paused and for a blocklisted party on either side', async () => {
    const payer = await aPayer()
    const a = anAuthorization(payer.address, { to: anAccount().address })
    const listed = 'Blacklistable: account is blacklisted'
    for (const party of [a.from, a.to]) {
      await send('blacklist', [party])
      expect(await transferRevert(a, '0x')).toBe(listed)
      await send('unBlacklist', [party])
    }
    await send('pause', [])
    expect(await transferRevert(a, '0x')).toBe('Pausable: paused')
    await send('unpause', [])
    expect(await transferRevert(a, await sign(payer, a))).toBeUndefined()
  })
})

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
