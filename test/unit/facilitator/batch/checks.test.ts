import type { BatchRequest } from '@arcus/protocol/x402/batch-request'
import type { BatchPayload, ChannelConfig, ClaimRow } from '@arcus/protocol/x402/batch-schemas'
import { reject } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  checkGasBudgets,
  checkRecipient,
  checkRequest,
  screenParties,
} from '../../../../src/facilitator/batch/checks.js'
import type { Network } from '../../../../src/facilitator/methods/network.js'
import { aNetwork, aTerms, aToken } from '../../../support/simulated/a-facilitator.js'
import {
  aWorld,
  euro,
  network,
  usdc,
  useVirtualClock,
} from '../../../support/simulated/a-relayer.js'
import { aConfig, batchContract, blocked, payer, receiver, signature } from './a-channel-config.js'

useVirtualClock()

/** A network that offers the scheme, and refuses the blocked accounts. */
async function aBatchNetwork(changes: Partial<Network> = {}): Promise<Network> {
  const terms = aTerms({
    tokens: new Map([[usdc, aToken({ minAmount: 100n })]]),
    isPayToBlocked: (address) => address === blocked,
    isPayerBlocked: (address) => address === blocked,
  })
  return {
    ...aNetwork(await aWorld().start()),
    isBatchOffered: () => true,
    terms,
    ...changes,
  }
}

function aRequest(payload: BatchPayload, changes: Partial<BatchRequest> = {}): BatchRequest {
  return {
    network,
    requirements: {
      scheme: 'batch-settlement',
      network,
      asset: usdc,
      amount: 100n,
      payTo: receiver,
      maxTimeoutSeconds: 60,
      extra: { name: 'USDC', version: '2' },
    },
    acceptedScheme: 'batch-settlement',
    acceptedNetwork: network,
    payload,
    ...changes,
  }
}

const voucher = { channelId: `0x${'cc'.repeat(32)}`, maxClaimableAmount: '5', signature } as const
const row = (changes: Partial<ChannelConfig> = {}): ClaimRow => ({
  voucher: { channel: aConfig(changes), maxClaimableAmount: '5' },
  signature,
  totalClaimed: '5',
})

const aDeposit = (changes: Partial<ChannelConfig> = {}, amount = '100'): BatchPayload => ({
  type: 'deposit',
  channelConfig: aConfig(changes),
  voucher,
  deposit: {
    amount,
    authorization: {
      erc3009Authorization: { validAfter: '0', validBefore: '9', salt: '1', signature },
    },
  },
})
const aVoucher = (changes: Partial<ChannelConfig> = {}): BatchPayload => ({
  type: 'voucher',
  channelConfig: aConfig(changes),
  voucher,
})
const aClaim = (...claims: ClaimRow[]): BatchPayload => ({ type: 'claim', claims })
const aRefund = (changes: Partial<ChannelConfig> = {}, ...claims: ClaimRow[]): BatchPayload => ({
  type: 'refund',
  channelConfig: aConfig(changes),
  voucher,
  amount: '5',
  refundNonce: '0',
  claims,
})
const aPayout = (to: Address = receiver, token: Address = usdc): BatchPayload => ({
  type: 'settle',
  receiver: to,
  token,
})

describe('a request of the scheme', () => {
  const askedOf = async (request: BatchRequest, changes: Partial<Network> = {}) => {
    const chain = await aBatchNetwork(changes)
    const found = checkRequest(request, new Map([[network, chain]]))
    return found === chain ? 'passes' : 'reason' in found && found.reason
  }

  it.each([
    ['a deposit', aDeposit()],
    ['a voucher', aVoucher()],
    ['a claim', aClaim(row(), row({ payer: receiver }))],
    ['a refund', aRefund()],
    ['a refund with a claim', aRefund({}, row())],
    ['a payout', aPayout()],
  ])('passes with %s', async (_, payload) => {
    expect(await askedOf(aRequest(payload))).toBe('passes')
  })

  it.each([
    ['another scheme accepted', { acceptedScheme: 'exact' }, 'batchScheme'],
    ['an unknown network', { network: 'eip155:1' }, 'invalidNetwork'],
    ['another network accepted', { acceptedNetwork: 'eip155:1' }, 'batchNetworkMismatch'],
  ])('is refused with %s', async (_, changes, reason) => {
    expect(await askedOf(aRequest(aVoucher(), changes))).toBe(reason)
  })

  it('is refused where the contracts have no code', async () => {
    const request = aRequest(aVoucher())
    expect(await askedOf(request, { isBatchOffered: () => false })).toBe('unsupportedScheme')
  })

  it('is a failure where the token has changed', async () => {
    const error = new Error('the token has changed')
    const asked = askedOf(aRequest(aVoucher()), { tokenMismatch: () => error })
    await expect(asked).rejects.toBe(error)
  })

  const { requirements } = aRequest(aVoucher())
  it.each([
    ['an asset that is not taken', { ...requirements, asset: euro }, 'unsupportedAsset'],
    [
      'a deposit by Permit2',
      { ...requirements, extra: { ...requirements.extra, assetTransferMethod: 'permit2' } },
      'unsupportedPayloadType',
    ],
    ['a deposit without a domain', { ...requirements, extra: {} }, 'batchMissingEip712Domain'],
    ['a deposit without anything', { ...requirements, extra: null }, 'batchMissingEip712Domain'],
    [
      'a deposit under another name',
      { ...requirements, extra: { name: 'EURC', version: '2' } },
      'tokenNameMismatch',
    ],
  ])('is refused with %s', async (_, changed, reason) => {
    expect(await askedOf(aRequest(aDeposit(), { requirements: changed }))).toBe(reason)
  })

  it.each([
    ['a deposit below the minimum', aDeposit({}, '99'), 'amountBelowMinimum'],
    ['a deposit to a blocked receiver', aDeposit({ receiver: blocked }), 'payToNotAllowed'],
    ['a deposit by a blocked payer', aDeposit({ payer: blocked }), 'payerNotAllowed'],
    ['a deposit of another token', aDeposit({ token: euro }), 'batchTokenMismatch'],
    ['a voucher to a blocked receiver', aVoucher({ receiver: blocked }), 'payToNotAllowed'],
    ['a voucher of another token', aVoucher({ token: euro }), 'batchTokenMismatch'],
    ['a refund to a blocked receiver', aRefund({ receiver: blocked }), 'payToNotAllowed'],
    ['a refund of another token', aRefund({ token: euro }), 'batchTokenMismatch'],
    ['a refund with a claim of another', aRefund({}, row({ token: euro })), 'batchTokenMismatch'],
    ['a claim of another token', aClaim(row(), row({ token: euro })), 'batchTokenMismatch'],
    ['a claim for a blocked receiver', aClaim(row({ receiver: blocked })), 'payToNotAllowed'],
    ['a claim for a contract', aClaim(row({ receiver: batchContract })), 'invalidPayTo'],
    ['two rows of a channel', aClaim(row(), row()), 'batchRepeatedChannel'],
    ['two such rows of a refund', aRefund({}, row(), row()), 'batchRepeatedChannel'],
    ['a payout of another token', aPayout(receiver, euro), 'batchTokenMismatch'],
    ['a payout to a blocked receiver', aPayout(blocked), 'payToNotAllowed'],
    ['a payout to a contract', aPayout(batchContract), 'invalidPayTo'],
  ])('is refused with %s', async (_, payload, reason) => {
    expect(await askedOf(aRequest(payload))).toBe(reason)
  })
})

describe('the gas budgets', () => {
  it('of the account that is charged and of those with code are asked, and the first refusal counts', async () => {
    const asked: object[] = []
    const refusal = reject('gasBudgetExceeded', 'Nothing is left.')
    const coded: ReadonlySet<Address> = new Set([receiver])
    const chain = await aBatchNetwork({
      readCoded: async () => new Set(coded),
      guardGas: async ({ account, hasCode }) => {
        asked.push({ account, hasCode })
        return account === receiver ? refusal : undefined
      },
    })
    const brought = { caller: 'x', payTo: receiver, standing: 'none' } as const
    expect(await checkGasBudgets(chain, payer, [blocked], brought)).toBe(refusal)
    expect(asked).toEqual([
      { account: payer, hasCode: false },
      { account: receiver, hasCode: true },
    ])
  })
})

describe('the parties of a request', () => {
  const rows = aClaim(row(), row({ payer: receiver, receiver: payer }))
  const parties = [
    ['a claim', rows, [`${payer} ${receiver}`, `${receiver} ${payer}`]],
    ['a payout', aPayout(), [`${receiver} ${receiver}`]],
    ['a deposit', aDeposit(), [`${payer} ${receiver}`]],
  ] as const

  it.each(parties)('are asked for as recipients: %s', async (_, payload, pairs) => {
    const asked: string[] = []
    const chain = await aBatchNetwork({
      recipients: {
        async check({ payer, payTo }) {
          asked.push(`${payer} ${payTo}`)
          return asked.length === 1 ? 'known' : 'none'
        },
      },
    })
    const brought = { caller: 'x', payTo: receiver, standing: 'known' }
    expect(await checkRecipient(aRequest(payload), chain, 'x')).toEqual(brought)
    expect(asked).toEqual(pairs)
  })

  it('are refused where one of the recipients is', async () => {
    const refusal = reject('payToNotAllowed', 'No gas is paid for them.')
    const check = async ({ payTo }: { payTo: Address }) => (payTo === payer ? refusal : 'none')
    const chain = await aBatchNetwork({ recipients: { check } })
    expect(await checkRecipient(aRequest(rows), chain, 'x')).toBe(refusal)
  })

  it.each(parties)('are screened: %s', async (_, payload, pairs) => {
    const asked: string[] = []
    const refusal = reject('payerNotAllowed', 'They are refused.')
    const screening = {
      list: undefined,
      async check({ payer, payTo }: { payer: Address; payTo: Address }) {
        asked.push(`${payer} ${payTo}`)
        return asked.length === pairs.length ? refusal : undefined
      },
    }
    const request = aRequest(payload)
    expect(await screenParties(request, await aBatchNetwork({ screening }))).toBe(refusal)
    expect(asked).toEqual(pairs)
    expect(await screenParties(request, await aBatchNetwork())).toBeUndefined()
  })
})
