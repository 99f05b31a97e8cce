import { permit2WitnessTypes, uptoPermit2WitnessTypes } from '@x402/evm'
import fc from 'fast-check'
import {
  type Abi,
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  createTestClient,
  type Hex,
  http,
  parseSignature,
  publicActions,
  walletActions,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Anvil, startAnvil } from '../../src/devnet/anvil.js'
import {
  devnetContracts,
  fundNative,
  mintUsdc,
  placeContracts,
  readArtifact,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { anAccount } from '../support/a-channel.js'
import { bend } from '../support/bent-signature.js'

// The stand-ins for Permit2 and x402's proxies against a model of their rules, kept in this file.

const { permit2, usdc, exactPermit2Proxy, uptoPermit2Proxy } = devnetContracts
const chainId = 5042
const proxies = { exact: exactPermit2Proxy, upto: uptoPermit2Proxy }
const abis = {
  token: readArtifact('MockUsdc').abi,
  permit2: readArtifact('Permit2').abi,
  exact: readArtifact('ExactPermit2Proxy').abi,
  upto: readArtifact('UptoPermit2Proxy').abi,
}
/** An error of one contract that passes through another one keeps its name. */
const errors = Object.values(abis).flatMap((abi) => abi.filter(({ type }) => type === 'error'))

let anvil: Anvil
let client: ReturnType<typeof connect>
const connect = (url: string) =>
  createTestClient({ mode: 'anvil', transport: http(url), pollingInterval: 5 })
    .extend(publicActions)
    .extend(walletActions)
beforeAll(async () => {
  anvil = await startAnvil()
  client = connect(anvil.url)
  await placeContracts(anvil.url)
  await call(anvil.url, 'anvil_autoImpersonateAccount', [true])
  // So it is known what the next block will say.
  await call(anvil.url, 'anvil_setBlockTimestampInterval', [1])
})
afterAll(() => anvil?.stop())

/** Two share a word, two share a bit, and the last word is there. */
const nonces = [0n, 1n, 255n, 256n, 511n, 2n ** 255n, 2n ** 256n - 1n] as const
const forms = [
  'plain',
  'compact',
  'high s',
  'v of 0 or 1',
  'cut',
  'of another',
  'of other terms',
] as const

const settles = fc.record({
  kind: fc.constantFrom('exact' as const, 'upto' as const),
  payer: fc.nat({ max: 2 }),
  nonce: fc.constantFrom(...nonces),
  permitted: fc.constantFrom(0n, 1n, 300n, 5_000n),
  amount: fc.constantFrom(0n, 1n, 299n, 300n, 301n),
  isNamed: fc.boolean(),
  /** Seconds after the block. */
  deadline: fc.constantFrom(-1n, 0n, 60n, 60n, 60n),
  validAfter: fc.constantFrom(-60n, -60n, -60n, 0n, 1n),
  form: fc.oneof(
    { weight: 3, arbitrary: fc.constant('plain' as const) },
    fc.constantFrom(...forms),
  ),
  permit: fc.constantFrom('none', 'none', 'good', 'false', 'of another value'),
})
const cancels = fc.record({
  kind: fc.constant('cancel' as const),
  payer: fc.nat({ max: 2 }),
  word: fc.constantFrom(0n, 1n),
  mask: fc.constantFrom(0n, 1n, 3n, 2n ** 255n),
})
type Settle = typeof settles extends fc.Arbitrary<infer T> ? T : never
type Cancel = typeof cancels extends fc.Arbitrary<infer T> ? T : never

interface Payer {
  account: PrivateKeyAccount
  /** Its code takes the signatures of its own key, by ERC-1271 alone. */
  isWallet: boolean
  balance: bigint
  allowance: bigint
  permits: bigint
  used: Set<bigint>
}

interface Model {
  payers: Payer[]
  merchant: Address
  relayer: Address
  stranger: Address
  received: bigint
}

async function aModel(): Promise<Model> {
  const payers = [1_000n, 400n, 1_000n].map((balance, i) => ({
    account: anAccount(),
    isWallet: i === 2,
    balance,
    allowance: i === 1 ? 0n : 2_000n,
    permits: 0n,
    used: new Set<bigint>(),
  }))
  const [merchant, relayer, stranger] = [anAccount(), anAccount(), anAccount()].map(
    (it) => it.address,
  )
  for (const address of [relayer, stranger, ...payers.map(({ account }) => account.address)]) {
    await fundNative(anvil.url, address as Address, 10n ** 18n)
  }
  for (const { account, balance, allowance, isWallet } of payers) {
    const { address } = account
    await mintUsdc(anvil.url, address, balance)
    if (allowance > 0n) await write(address, usdc, abis.token, 'approve', [permit2, allowance])
    const bytecode = readArtifact('Wallet1271').deployedBytecode
    if (isWallet) await client.setCode({ address, bytecode })
  }
  return { payers, merchant, relayer, stranger, received: 0n } as Model
}

async function write(
  account: Address,
  address: Address,
  abi: Abi,
  functionName: string,
  args: unknown[],
) {
  const gas = 1_000_000n
  const hash = await client.writeContract({
    account,
    address,
    abi,
    functionName,
    args,
    gas,
    chain: null,
  })
  return minedReceipt(hash)
}

/** Under load anvil leaves a transaction in its pool now and then, until it is told to mine. */
async function minedReceipt(hash: Hex): Promise<{ status: Hex }> {
  for (let tries = 1; tries < 4_000; tries++) {
    const receipt = await call<{ status: Hex } | null>(anvil.url, 'eth_getTransactionReceipt', [
      hash,
    ])
    if (receipt !== null) return receipt
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (tries % 200 === 0) await call(anvil.url, 'evm_mine')
  }
  throw new Error(`${hash} was not mined`)
}

/** What the contracts must answer: the name of the first rule that is broken, or `undefined`. */
function expected(step: Settle, payer: Payer): string | undefined {
  const { kind, permitted, form } = step
  const amount = kind === 'exact' ? permitted : step.amount
  if (kind === 'upto' && amount > permitted) return 'AmountExceedsPermitted'
  if (kind === 'upto' && !step.isNamed) return 'UnauthorizedFacilitator'
  if (step.permit === 'of another value') return 'Permit2612AmountMismatch'
  if (amount === 0n) return 'InvalidAmount'
  if (step.validAfter > 0n) return 'PaymentTooEarly'
  if (step.deadline < 0n) return 'SignatureExpired'
  if (payer.used.has(step.nonce)) return 'InvalidNonce'
  const problem = (payer.isWallet ? walletProblems : plainProblems)[form]
  if (problem !== undefined) return problem
  const allowance = step.permit === 'good' ? permitted : payer.allowance
  return amount > allowance || amount > payer.balance ? 'TRANSFER_FROM_FAILED' : undefined
}

type Problems = Record<(typeof forms)[number], string | undefined>
const plainProblems: Problems = {
  plain: undefined,
  compact: undefined,
  'high s': undefined,
  'v of 0 or 1': 'InvalidSignature',
  cut: 'InvalidSignatureLength',
  'of another': 'InvalidSigner',
  'of other terms': 'InvalidSigner',
}
/** What a wallet reverts with goes up. */
const walletProblems: Problems = {
  plain: undefined,
  compact: 'ECRecover: invalid signature length',
  'high s': "ECRecover: invalid signature 's' value",
  'v of 0 or 1': "ECRecover: invalid signature 'v' value",
  cut: 'ECRecover: invalid signature length',
  'of another': 'InvalidContractSignature',
  'of other terms': 'InvalidContractSignature',
}

/** The signature of the official types, in one of its forms. */
async function sign(step: Settle, payer: Payer, terms: Terms): Promise<Hex> {
  const signer = step.form === 'of another' ? anAccount() : payer.account
  const amount = step.form === 'of other terms' ? terms.permit.permitted.amount + 1n : undefined
  const { permit, witness } = terms
  const signature = await signer.signTypedData({
    domain: { name: 'Permit2', chainId, verifyingContract: permit2 },
    types: step.kind === 'exact' ? permit2WitnessTypes : uptoPermit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      ...permit,
      permitted: { ...permit.permitted, ...(amount !== undefined && { amount }) },
      spender: proxies[step.kind],
      witness,
    } as never,
  })
  if (step.form === 'compact') return bend(signature, 'the compact form')
  if (step.form === 'high s') return bend(signature, 'a high s')
  if (step.form === 'v of 0 or 1') return bend(signature, 'v of 0 or 1')
  return step.form === 'cut' ? (signature.slice(0, -4) as Hex) : signature
}

interface Terms {
  permit: { permitted: { token: Address; amount: bigint }; nonce: bigint; deadline: bigint }
  witness: { to: Address; validAfter: bigint; facilitator: Address }
}

async function permit2612(step: Settle, { account, permits }: Payer, time: bigint) {
  const value = step.permitted + (step.permit === 'of another value' ? 1n : 0n)
  const deadline = time + 60n
  const names = ['owner', 'spender', 'value', 'nonce', 'deadline']
  const Permit = names.map((name, i) => ({ name, type: i < 2 ? 'address' : 'uint256' }))
  const nonce = permits + (step.permit === 'false' ? 1n : 0n)
  const signature = await account.signTypedData({
    domain: { name: 'USDC', version: '2', chainId, verifyingContract: usdc },
    types: { Permit },
    primaryType: 'Permit',
    message: { owner: account.address, spender: permit2, value, nonce, deadline },
  })
  const { r, s, v } = parseSignature(signature)
  return { value, deadline, r, s, v: Number(v) }
}

function nameOf(error: unknown): string {
  const reverted =
    error instanceof BaseError && error.walk((it) => it instanceof ContractFunctionRevertedError)
  if (!(reverted instanceof ContractFunctionRevertedError)) throw error
  const name = reverted.data?.errorName
  return (name === 'Error' ? reverted.reason : name) ?? String(error)
}

async function settle(step: Settle, model: Model): Promise<void> {
  const payer = model.payers[step.payer] as Payer
  const { timestamp } = await client.getBlock()
  const time = timestamp + 1n
  const permitted = { token: usdc, amount: step.permitted }
  const terms: Terms = {
    permit: { permitted, nonce: step.nonce, deadline: time + step.deadline },
    witness: {
      to: model.merchant,
      validAfter: time + step.validAfter,
      facilitator: model.relayer,
    },
  }
  const account = step.isNamed ? model.relayer : model.stranger
  const args = [
    ...(step.permit === 'none' ? [] : [await permit2612(step, payer, time)]),
    terms.permit,
    ...(step.kind === 'upto' ? [step.amount] : []),
    payer.account.address,
    terms.witness,
    await sign(step, payer, terms),
  ]
  const functionName = step.permit === 'none' ? 'settle' : 'settleWithPermit'
  const [address, abi] = [proxies[step.kind], [...abis[step.kind], ...errors]]
  const answered = await client
    .simulateContract({ account, address, abi, functionName, args, blockOverrides: { time } })
    .then(() => undefined, nameOf)
  const problem = expected(step, payer)
  expect(answered).toBe(problem)

  const { status } = await write(account, address, abi, functionName, args)
  expect(status).toBe(problem === undefined ? '0x1' : '0x0')
  if (problem !== undefined) return
  const amount = step.kind === 'exact' ? step.permitted : step.amount
  if (step.permit === 'good') {
    payer.allowance = step.permitted
    payer.permits++
  }
  payer.allowance -= amount
  payer.balance -= amount
  payer.used.add(step.nonce)
  model.received += amount
}

async function cancel({ payer: index, word, mask }: Cancel, { payers }: Model): Promise<void> {
  const { account, used } = payers[index] as Payer
  const args = [word, mask]
  await write(account.address, permit2, abis.permit2, 'invalidateUnorderedNonces', args)
  for (let bit = 0n; bit < 256n; bit++) if ((mask >> bit) & 1n) used.add((word << 8n) | bit)
}

async function compare({ payers, merchant, received }: Model): Promise<void> {
  const read = (address: Address, abi: Abi, functionName: string, args: unknown[]) =>
    client.readContract({ address, abi, functionName, args }) as Promise<bigint>
  expect(await read(usdc, abis.token, 'balanceOf', [merchant])).toBe(received)
  for (const { account, balance, allowance, used } of payers) {
    const owner = account.address
    expect(await read(usdc, abis.token, 'balanceOf', [owner])).toBe(balance)
    expect(await read(usdc, abis.token, 'allowance', [owner, permit2])).toBe(allowance)
    for (const word of new Set(nonces.map((nonce) => nonce >> 8n))) {
      const own = [...used].filter((nonce) => nonce >> 8n === word)
      const bits = own.reduce((sum, nonce) => sum | (1n << (nonce & 255n)), 0n)
      expect(await read(permit2, abis.permit2, 'nonceBitmap', [owner, word])).toBe(bits)
    }
  }
}

it('the stand-ins for Permit2 and the proxies keep its rules in every order of calls', async () => {
  const steps = fc.array(fc.oneof({ weight: 9, arbitrary: settles }, cancels), {
    minLength: 8,
    maxLength: 14,
  })
  let received = 0n
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const model = await aModel()
      for (const step of steps) {
        await (step.kind === 'cancel' ? cancel(step, model) : settle(step, model))
      }
      await compare(model)
      received += model.received
    }),
    { numRuns: 12, endOnFailure: true },
  )
  expect(received).toBeGreaterThan(0n)
})
