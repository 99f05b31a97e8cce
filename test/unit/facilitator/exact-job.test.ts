import { expect, it } from 'vitest'
import { rejectionOfRevert } from '../../../src/facilitator/exact-job.js'

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
