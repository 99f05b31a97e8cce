import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Agent } from '../../../../src/chain/identity-registry.js'
import {
  checkControl,
  checkDomain,
  checkFile,
  checkPay,
  MAX_HOSTS,
} from '../../../../src/directory/identity/identity-checks.js'
import type { GuardedFetch } from '../../../../src/directory/probe/guarded-fetch.js'

const owner: Address = '0x1111111111111111111111111111111111111111'
const other: Address = '0x2222222222222222222222222222222222222222'
const wallet: Address = '0xabCDeF0123456789AbcdEf0123456789aBCDEF01'
const zero: Address = '0x0000000000000000000000000000000000000000'
const name = { registry: 'eip155:5042:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432', agentId: '0' }
const naming = JSON.stringify({
  registrations: [{ agentRegistry: name.registry, agentId: 0 }],
})

const anAgent = (wish: Partial<Agent> = {}): Agent => ({
  owner,
  isAuthorized: true,
  wallet,
  uri: 'https://agent.example/card.json',
  ...wish,
})

/** Serves what is given by URL and remembers what it was asked for. */
function aWeb(files: Record<string, string>) {
  const asked: string[] = []
  const fetch: GuardedFetch = async ({ url }) => {
    asked.push(url)
    const { [url]: body = '' } = files
    const head = { status: Object.hasOwn(files, url) ? 200 : 404, headers: {} }
    return { kind: 'answer', head, body, bodyBytes: body.length }
  }
  return { asked, fetch }
}

describe('control', () => {
  it('is shown by the owner, in any case of the address, and by an operator, and says which', () => {
    expect(checkControl(anAgent(), owner)).toMatchObject({
      passed: true,
      detail: expect.stringContaining('is the owner'),
    })
    expect(checkControl(anAgent({ owner: other }), owner)).toMatchObject({
      passed: true,
      detail: expect.stringContaining('is an operator'),
    })
  })

  it('is not shown by a stranger, for an unknown agent, or by nobody', () => {
    const stranger = checkControl(anAgent({ owner: other, isAuthorized: false }), owner)
    expect(stranger.passed).toBe(false)
    expect(stranger.detail).toContain(`${other} owns it`)
    expect(checkControl(undefined, owner).passed).toBe(false)
    expect(checkControl(anAgent(), null).passed).toBe(false)
  })
})

describe('pay', () => {
  const merchant = { payTo: wallet.toLowerCase() as Address, network: 'eip155:5042' }
  const endpoint = (...accepts: Record<string, unknown>[]) => ({
    url: 'https://a.example/',
    accepts,
  })

  it('is the same address in the registry and in the listing', () => {
    expect(checkPay(anAgent(), merchant, []).passed).toBe(true)
    expect(checkPay(anAgent({ wallet: other }), merchant, []).passed).toBe(false)
    expect(checkPay(undefined, merchant, []).passed).toBe(false)
  })

  it('says so when the agent has no wallet', () => {
    expect(checkPay(anAgent({ wallet: zero }), { ...merchant, payTo: zero }, [])).toEqual({
      passed: false,
      detail: 'The agent has no wallet set.',
    })
  })

  it('is not given where an endpoint quotes another payTo on this network', () => {
    const here = { network: 'eip155:5042', payTo: wallet }
    const away = { network: 'eip155:5042', payTo: other }
    const elsewhere = { network: 'eip155:8453', payTo: other }
    expect(checkPay(anAgent(), merchant, [endpoint(here, elsewhere), endpoint()]).passed).toBe(true)
    const quoted = checkPay(anAgent(), merchant, [endpoint(here), endpoint(away)])
    expect(quoted.passed).toBe(false)
    expect(quoted.detail).toContain('a.example asks to be paid elsewhere')
  })
})

describe('file', () => {
  it('names the agent, and the host it came from', async () => {
    const { fetch } = aWeb({ 'https://agent.example/card.json': naming })
    expect(await checkFile(anAgent(), name, fetch)).toMatchObject({
      passed: true,
      host: 'agent.example',
    })
    const inline = anAgent({ uri: `data:application/json,${naming}` })
    expect(await checkFile(inline, name, fetch)).toEqual({
      passed: true,
      detail: expect.stringContaining('names'),
    })
  })

  it('fails when it names another agent, cannot be read, or is on ipfs', async () => {
    const { fetch } = aWeb({ 'https://agent.example/card.json': naming })
    const another = await checkFile(anAgent(), { ...name, agentId: '1' }, fetch)
    expect(another).toEqual({ passed: false, detail: expect.stringContaining('does not name') })
    const gone = await checkFile(anAgent({ uri: 'https://gone.example/' }), name, fetch)
    expect(gone.detail).toContain('could not be read: the host answered 404')
    const ipfs = await checkFile(anAgent({ uri: 'ipfs://bafy' }), name, fetch)
    expect(ipfs).toEqual({ passed: false, detail: expect.stringContaining('ipfs is not read') })
  })
})

describe('domain', () => {
  const at = (...urls: string[]) => urls.map((url) => ({ url }))
  const wellKnown = (host: string) => `https://${host}/.well-known/agent-registration.json`

  it('reads every host once, over https however it is listed', async () => {
    const { fetch, asked } = aWeb({
      [wellKnown('a.example')]: naming,
      [wellKnown('b.example')]: naming,
    })
    const endpoints = at('https://a.example/x', 'https://a.example/y', 'http://b.example/z')
    expect(await checkDomain(endpoints, undefined, name, fetch)).toEqual({
      passed: true,
      detail: 'Named by a.example, b.example.',
    })
    expect(asked).toEqual([wellKnown('a.example'), wellKnown('b.example')])
  })

  it('asks over http only where that is allowed', async () => {
    const { fetch, asked } = aWeb({})
    await checkDomain(at('http://127.0.0.1:4022/x'), undefined, name, fetch, true)
    expect(asked).toEqual(['http://127.0.0.1:4022/.well-known/agent-registration.json'])
  })

  it('needs no other proof from the host that served the file', async () => {
    const { fetch, asked } = aWeb({})
    const finding = await checkDomain(at('https://agent.example/x'), 'agent.example', name, fetch)
    expect(finding.passed).toBe(true)
    expect(asked).toEqual([])
  })

  it('fails when one host of several does not name the agent', async () => {
    const { fetch } = aWeb({ [wellKnown('a.example')]: naming })
    const endpoints = at('https://a.example/x', 'https://b.example/y')
    const finding = await checkDomain(endpoints, undefined, name, fetch)
    expect(finding).toEqual({ passed: false, detail: expect.stringContaining('b.example') })
  })

  it('fails without an endpoint, and asks nobody when there are too many hosts', async () => {
    const { fetch, asked } = aWeb({})
    expect((await checkDomain([], undefined, name, fetch)).passed).toBe(false)
    const many = Array.from({ length: MAX_HOSTS + 1 }, (_, i) => `https://h${i}.example/`)
    expect((await checkDomain(at(...many), undefined, name, fetch)).passed).toBe(false)
    expect(asked).toEqual([])
    await checkDomain(at(...many.slice(1)), undefined, name, fetch)
    expect(asked).toHaveLength(MAX_HOSTS)
  })
})
