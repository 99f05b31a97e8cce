import type { PaidResource } from '@arcus/protocol/x402/payment'
import { expect, it } from 'vitest'
import type { AuthorizationUse } from '../../../../src/chain/authorization-uses.js'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import {
  createExactJob,
  digestOfSignature,
  isWhileOpen,
  readExactDetails,
  readResource,
  rejectionOfRevert,
} from '../../../../src/facilitator/methods/exact-job.js'
import { aPayment } from '../../protocol/x402/a-payment.js'

it.each([
  ['FiatTokenV2: authorization is used or canceled', 'nonceAlreadyUsed'],
  ['FiatTokenV2: authorization is expired', 'validBefore'],
  ['FiatTokenV2: authorization is not yet valid', 'validAfter'],
  ['ERC20: transfer amount exceeds balance', 'insufficientBalance'],
  ['FiatTokenV2: invalid signature', 'signature'],
  ['ECRecover: invalid signature', 'signature'],
  ["ECRecover: invalid signature 's' value", 'signature'],
  ["ECRecover: invalid signature 'v' value", 'signature'],
  ['ECRecover: invalid signature length', 'signature'],
  ['Pausable: paused', 'assetPaused'],
  ['Blacklistable: account is blacklisted', 'simulationFailed'],
  ['', 'simulationFailed'],
  ['custom error 0x12345678', 'simulationFailed'],
])('names the cause of %j: %s', (revert, reason) => {
  expect(rejectionOfRevert(revert)).toEqual({
    reason,
    message: `The simulated transfer reverted: ${JSON.stringify(revert)}.`,
  })
})

it('quotes the text of a contract without URLs and line breaks', () => {
  const { message } = rejectionOfRevert('see https://evil.example/?a=1 now\n"paused"')
  expect(message).toBe('The simulated transfer reverted: "see … now\\n\\"paused\\"".')
})

const signature = `0x${'5a'.repeat(65)}` as const
const aJobFor = (paid: PaidResource) =>
  createExactJob({
    id: 'a',
    payment: { ...aPayment(), ...paid },
    digest: '0xdd',
    signature,
    isAlone: false,
    seenBlock: 1,
    claimedAt: 1,
  })

it.each([
  ['https://me:pass@api.example.com:8443/a/b?c=d#e', 'https://api.example.com:8443/a/b'],
  ['HTTPS://API.example.com', 'https://api.example.com/'],
  ['https:\\\\me@api.example.com\\a?c', 'https://api.example.com/a'],
  ['mcp://me@tool/tides?port=Faro', 'mcp://tool/tides'],
  ['data:text/plain,secret', undefined],
  ['not a URL?c=d', undefined],
  ['/a?c=d', undefined],
])("keeps of %s what is not the buyer's own", (resourceUrl, kept) => {
  const { details, resource = null } = aJobFor({ resourceUrl, toolName: 'tides' })
  expect(readResource({ resource })).toEqual(
    kept === undefined ? { toolName: 'tides' } : { resourceUrl: kept, toolName: 'tides' },
  )
  expect(details).not.toContain('tides')
})

it('keeps no resource where the payment names none', () => {
  expect(aJobFor({}).resource).toBeNull()
  expect(readResource({ resource: null })).toEqual({})
})

it('keeps a digest of the signature, which stands in the calldata alone', () => {
  const { details, calldata } = aJobFor({})
  expect(readExactDetails({ details }).signatureDigest).toBe(digestOfSignature(signature))
  expect(details).not.toContain(signature.slice(2))
  expect(calldata).toContain(signature.slice(2))
})

it.each([
  [5, 4_000, false, true],
  [5, 4_999, false, true],
  [5, 5_000, false, false],
  [5, 5_000, true, true],
  [3, 4_000, true, false],
])(
  'a use in block %s counts for a claim in block 3, at %s ms, by a transaction of ours (%s): %s',
  async (blockNumber, claimedAt, isOurs, counts) => {
    const { details } = aJobFor({})
    const job = {
      seenBlock: 3,
      details: JSON.stringify({ ...JSON.parse(details), claimedAt }),
    } as Job
    const receipt = { blockNumber, transactionHash: '0xaa' }
    const use = { state: 'paid', receipt, transferLog: 1, minedAt: 4 } as unknown
    const found = await isWhileOpen(
      use as AuthorizationUse & { state: 'paid' },
      job,
      async () => isOurs,
    )
    expect(found).toBe(counts)
  },
)
