import { readFileSync } from 'node:fs'
import { type Abi, type Address, encodeFunctionData, type Hex, toHex } from 'viem'
import { create2Deployer, encodeDeployment, relayerMulticallOf } from '../chain/deployments.js'
import { call, callBatch } from './rpc.js'

/** Addresses of the contracts, the same as in Arc's genesis, so that client code needs no devnet addresses. */
export const devnetContracts = {
  multicall: '0xcA11bde05977b3631167028862bE2a173976CA11',
  usdc: '0x3600000000000000000000000000000000000000',
  eurc: '0xbEf5f6d51CB62b58e6A8f77868681825C6fe21c1',
  nativeTransferLog: '0xfffffffffffffffffffffffffffffffffffffffe',
  /** ERC-8004, at its addresses on all mainnets. */
  identityRegistry: '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432',
  /** x402 `batch-settlement`, at its addresses on every chain. */
  batchSettlement: '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003',
  erc3009Collector: '0x4020806089470a89826cB9fB1f4059150b550004',
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  /** x402's proxies of `exact` and `upto` payments by Permit2, at their addresses on every chain. */
  exactPermit2Proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
  uptoPermit2Proxy: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
} as const satisfies Record<string, Address>

/*
 * These contracts cannot imitate all of Arc. There the gas coin and USDC are one balance in two scales; here the mock keeps
 * its own. Arc's token runs on precompiles, and native movements emit an 18-decimal `Transfer` from a system address
 * (EIP-7708); here a helper contract does. Arc's nodes refuse blocklisted senders before the pool, hide pending state, and
 * move the base fee within 2 % a block; here the fault suite plays the refusing node, and the block producer sets the fee.
 */
const placements: readonly (readonly [Address, name: string])[] = [
  [devnetContracts.multicall, 'Multicall'],
  [devnetContracts.usdc, 'MockUsdc'],
  [devnetContracts.eurc, 'MockEurc'],
  [devnetContracts.nativeTransferLog, 'NativeTransferLog'],
  [devnetContracts.identityRegistry, 'MockIdentityRegistry'],
  [devnetContracts.batchSettlement, 'BatchSettlement'],
  [devnetContracts.erc3009Collector, 'Erc3009Collector'],
  [devnetContracts.permit2, 'Permit2'],
  [devnetContracts.exactPermit2Proxy, 'ExactPermit2Proxy'],
  [devnetContracts.uptoPermit2Proxy, 'UptoPermit2Proxy'],
]

// Any account can mint on the mock. anvil impersonates this one, so it signs nothing.
const minter: Address = '0x00000000000000000000000000000000000a5c05'
const minterGas = 10n ** 18n
// Without this, the node takes the fee of a block that may never come: here each block has the fee of its parent.
const minterMaxFeeWei = 1_000n * 10n ** 9n
const receiptTimeoutMs = 5_000

/**
 * Puts the code of Multicall3, the mock stablecoins, the 18-decimal log, the mock registry of ERC-8004, the
 * contracts of `batch-settlement`, Permit2 and x402's proxies for it at their addresses. The mocks keep their state in namespaces of their own, so that storage left by
 * a forked contract does not affect them.
 */
export async function placeContracts(url: string): Promise<void> {
  await callBatch(
    url,
    placements.map(([address, name]) => [
      'anvil_setCode',
      [address, readArtifact(name).deployedBytecode],
    ]),
  )
}

/** Removes the code that addresses have on a forked chain. */
export async function clearCode(url: string, addresses: readonly Address[]): Promise<void> {
  await callBatch(
    url,
    addresses.map((address) => ['anvil_setCode', [address, '0x']]),
  )
}

/** Sets the native balance, in 18 decimals, which pays for gas. The mock's balances are separate. */
export async function fundNative(url: string, address: Address, wei: bigint): Promise<void> {
  await call(url, 'anvil_setBalance', [address, toHex(wei)])
}

let sending: Promise<unknown> = Promise.resolve()

/** Runs the sends of the minter one after another, because anvil gives the same nonce to those that come at once. */
function inTurn<T>(send: () => Promise<T>): Promise<T> {
  const sent = sending.then(send)
  sending = sent.catch(() => {})
  return sent
}

/** Mints mock USDC to an address, in 6 decimals. It works in every mining mode. */
export function mintUsdc(url: string, address: Address, atomic: bigint): Promise<void> {
  return mintToken(url, devnetContracts.usdc, address, atomic)
}

/** Mints a mock stablecoin as `mintUsdc` does. */
export async function mintToken(
  url: string,
  token: Address,
  address: Address,
  atomic: bigint,
): Promise<void> {
  const { abi } = readArtifact('MockUsdc')
  const data = encodeFunctionData({ abi, functionName: 'mint', args: [address, atomic] })
  const { status } = await inTurn(() => sendFromMinter(url, token, data))
  if (status !== '0x1') throw new Error(`minting ${atomic} to ${address} reverted`)
}

async function sendFromMinter(url: string, to: Address, data: Hex): Promise<MinedStatus> {
  await fundNative(url, minter, minterGas)
  await call(url, 'anvil_impersonateAccount', [minter])
  const maxFeePerGas = toHex(minterMaxFeeWei)
  const transaction = { from: minter, to, data, maxFeePerGas }
  return minedReceipt(url, await call<Hex>(url, 'eth_sendTransaction', [transaction]))
}

/** Has the multicall that only these wallets may call deployed, and returns its address. */
export async function deployRelayerMulticall(
  url: string,
  relayers: readonly Address[],
): Promise<Address> {
  const deployment = relayerMulticallOf(relayers)
  const data = encodeDeployment(deployment, deployment.creationCode)
  // On a forked chain it may be there already, and then the transaction fails.
  await inTurn(() => sendFromMinter(url, create2Deployer, data))
  const code = await call<Hex>(url, 'eth_getCode', [deployment.address, 'latest'])
  if (code === '0x') throw new Error('the multicall of the relayers could not be deployed')
  return deployment.address
}

/** Reads the mock USDC of an address, in 6 decimals. */
export function usdcBalance(url: string, address: Address): Promise<bigint> {
  return tokenBalance(url, devnetContracts.usdc, address)
}

/** Reads what an address holds of a token, in its atomic units. */
export async function tokenBalance(url: string, token: Address, address: Address): Promise<bigint> {
  const data = encodeFunctionData({ abi: balanceAbi, functionName: 'balanceOf', args: [address] })
  return BigInt(await call<Hex>(url, 'eth_call', [{ to: token, data }, 'latest']))
}

/** Reads the native balance of an address, in 18 decimals. */
export async function nativeBalance(url: string, address: Address): Promise<bigint> {
  return BigInt(await call<Hex>(url, 'eth_getBalance', [address, 'latest']))
}

const balanceAbi = [
  {
    type: 'function',
    name: 'balanceOf',
    stateMutability: 'view',
    inputs: [{ name: 'account', type: 'address' }],
    outputs: [{ name: '', type: 'uint256' }],
  },
] as const satisfies Abi

type MinedStatus = { status: Hex }

/** Waits for a receipt, and mines blocks at an unchanged base fee while the node does not mine by itself. */
async function minedReceipt(url: string, hash: Hex): Promise<MinedStatus> {
  const deadline = Date.now() + receiptTimeoutMs
  for (;;) {
    const receipt = await call<MinedStatus | null>(url, 'eth_getTransactionReceipt', [hash])
    if (receipt !== null) return receipt
    if (Date.now() > deadline) throw new Error(`transaction ${hash} was not mined`)
    await mineAtSameFee(url)
  }
}

async function mineAtSameFee(url: string): Promise<void> {
  const { baseFeePerGas } = await call<{ baseFeePerGas: Hex }>(url, 'eth_getBlockByNumber', [
    'latest',
    false,
  ])
  await callBatch(url, [['anvil_setNextBlockBaseFeePerGas', [baseFeePerGas]], ['evm_mine']])
}

type Artifact = { contractName: string; abi: Abi; bytecode: Hex; deployedBytecode: Hex }

/** Reads a compiled contract from `contracts/artifacts`, written by `npm run contracts`. */
export function readArtifact(name: string): Artifact {
  const file = new URL(`../../contracts/artifacts/${name}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as Artifact
}
