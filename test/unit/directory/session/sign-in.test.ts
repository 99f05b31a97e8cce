import { privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import { describe, expect, it } from 'vitest'
import { createSessions, createSignIn } from '../../../../src/directory/session/sign-in.js'
import { createMemorySessions } from '../../../../src/directory/store/sessions.js'

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const stranger = privateKeyToAccount(`0x${'22'.repeat(32)}`)
const from = { caller: '192.0.2.1', block: '192.0.2.0/24' }
const uri = 'https://directory.example'
const domain = 'directory.example'

/** A directory with one nonce given out; `signIn` signs the usual message with these changes. */
async function aDirectory() {
  const clock = { now: 1_800_000_000_000 }
  const sessions = createSessions(createMemorySessions(), () => clock.now, 'http://localhost')
  const check = createSignIn({
    sessions,
    domain,
    uri,
    chainIds: [5042],
    isContractSignature: async () => false,
    now: () => clock.now,
  })
  const { nonce } = await sessions.issueNonce(from)
  type Fields = Parameters<typeof createSiweMessage>[0]
  const signIn = async (changes: Partial<Fields> = {}, signer = account) => {
    const message = createSiweMessage({
      address: account.address,
      chainId: 5042,
      domain,
      nonce,
      uri,
      version: '1',
      ...changes,
    } as Fields)
    return check(message, await signer.signMessage({ message }))
  }
  return { clock, sessions, signIn, nonce }
}

describe('a sign-in', () => {
  it('is that of the address that signed', async () => {
    const { signIn } = await aDirectory()
    expect(await signIn()).toEqual({ ok: true, address: account.address.toLowerCase() })
  })

  it.each([
    ['for another domain', { domain: 'evil.example' }, /must be for directory\.example/],
    ['for another URI', { uri: 'https://evil.example' }, /must name the URI/],
    ['for another chain', { chainId: 1 }, /must name chain 5042/],
    ['with a nonce from elsewhere', { nonce: 'f'.repeat(32) }, /nonce was not issued here/],
    ['issued in the future', { issuedAt: new Date(1_800_000_061_000) }, /in the future/],
    ['that has expired', { expirationTime: new Date(1_800_000_000_000) }, /has expired/],
    ['that is not valid yet', { notBefore: new Date(1_800_000_061_000) }, /not valid yet/],
  ])('%s is refused', async (_, changes, message) => {
    const { signIn } = await aDirectory()
    expect(await signIn(changes)).toEqual({ ok: false, message: expect.stringMatching(message) })
  })

  it('signed by another key is refused, and its nonce is used up', async () => {
    const { signIn } = await aDirectory()
    expect(await signIn({}, stranger)).toMatchObject({ ok: false })
    expect(await signIn()).toMatchObject({ ok: false, message: expect.stringMatching(/was used/) })
  })

  it('is good once', async () => {
    const { signIn } = await aDirectory()
    expect(await signIn()).toMatchObject({ ok: true })
    expect(await signIn()).toMatchObject({ ok: false })
  })

  it('has five minutes', async () => {
    const late = await aDirectory()
    late.clock.now += 300_000
    expect(await late.signIn()).toMatchObject({ ok: false })
    const inTime = await aDirectory()
    inTime.clock.now += 299_999
    expect(await inTime.signIn()).toMatchObject({ ok: true })
  })
})

describe('a session', () => {
  it('lasts an hour, and ends when it is closed', async () => {
    const { clock, sessions } = await aDirectory()
    const address = '0x00000000000000000000000000000000000000a1'
    const { id } = await sessions.open(address, from)
    clock.now += 3_599_999
    expect(await sessions.find(id)).toMatchObject({ address })
    clock.now += 1
    expect(await sessions.find(id)).toBeUndefined()
    const second = await sessions.open(address, from)
    await sessions.close(second.id)
    expect(await sessions.find(second.id)).toBeUndefined()
    expect(await sessions.find(undefined)).toBeUndefined()
  })
})
