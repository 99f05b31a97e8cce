import { describe, expect, it } from 'vitest'
import {
  MAX_FILE_BYTES,
  namesAgent,
  parseAgentId,
  readRegistrationFile,
} from '../../../../src/directory/identity/registration-file.js'
import type { GuardedFetch } from '../../../../src/directory/probe/guarded-fetch.js'

const never: GuardedFetch = async ({ url }) => expect.unreachable(`asked for ${url}`)
const answered = (body: string, status = 200) =>
  ({ kind: 'answer', head: { status, headers: {} }, body, bodyBytes: body.length }) as const
const base64 = (text: string) =>
  `data:application/json;base64,${Buffer.from(text).toString('base64')}`
const read = (uri: string | null, fetch = never) => readRegistrationFile(uri, fetch)

describe('the file a tokenURI names', () => {
  it('is fetched over https through the guard', async () => {
    const asked: unknown[] = []
    const fetch: GuardedFetch = async (request) => {
      asked.push(request)
      return answered('{"name":"a"}')
    }
    const url = 'https://agent.example/card.json'
    expect(await read(url, fetch)).toEqual({ ok: true, file: { name: 'a' } })
    expect(asked).toEqual([{ url, method: 'GET' }])
  })

  it('is not there for any other status, and nothing of the body is shown', async () => {
    const answer = await read('https://agent.example/', async () => answered('{"secret":1}', 404))
    expect(answer).toEqual({ ok: false, reason: 'the host answered 404' })
  })

  it('is not there when the guard refuses, and says why at the end of a sentence', async () => {
    const blocked = { kind: 'blocked', message: 'The host is private.' } as const
    expect(await read('https://10.0.0.1/', async () => blocked)).toEqual({
      ok: false,
      reason: 'the host is private',
    })
  })

  it.each([
    ['base64', base64('{"name":"ä"}')],
    ['percent-encoded', `data:application/json,${encodeURIComponent('{"name":"ä"}')}`],
    ['plain', 'data:application/json;charset=utf-8,{"name":"ä"}'],
    ['upper case', `DATA:Application/JSON;BASE64,${btoa('{"name":"\\u00e4"}')}`],
  ])('is read from a data URI that is %s', async (_, uri) => {
    expect(await read(uri)).toEqual({ ok: true, file: { name: 'ä' } })
  })

  it.each([
    ['ipfs://bafy', 'ipfs is not read'],
    ['http://agent.example/', 'its URI is neither https nor data'],
    ['javascript:alert(1)', 'its URI is neither https nor data'],
    ['card.json', 'its URI is neither https nor data'],
    ['', 'the agent has no URI'],
    [null, 'its URI is longer than 96 KiB'],
    ['data:text/html,<b>', 'its data URI is not JSON'],
    ['data:application/json', 'its data URI is not JSON'],
    ['data:application/json;base64,***', 'its data URI cannot be decoded'],
    ['data:application/json,%E0%A4', 'its data URI cannot be decoded'],
    ['data:application/json,{', 'it is not JSON'],
    ['data:application/json,[]', 'it is not a JSON object'],
    ['data:application/json,null', 'it is not a JSON object'],
  ])('is refused for %j', async (uri, reason) => {
    expect(await read(uri)).toEqual({ ok: false, reason })
  })

  it('may have 64 KiB and not one byte more', async () => {
    const ofSize = (bytes: number) => base64(`{"a":"${'x'.repeat(bytes - 8)}"}`)
    expect(await read(ofSize(MAX_FILE_BYTES))).toMatchObject({ ok: true })
    expect(await read(ofSize(MAX_FILE_BYTES + 1))).toEqual({
      ok: false,
      reason: 'it is larger than 64 KiB',
    })
  })
})

describe('an agent in registrations', () => {
  const registry = 'eip155:5042:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
  const name = { registry, agentId: '0' }
  const names = (entry: unknown, agentId = '0') =>
    namesAgent({ registrations: [entry] }, { registry, agentId })

  it('is named by a number or by digits, and in any case of the address', () => {
    expect(names({ agentRegistry: registry, agentId: 0 })).toBe(true)
    expect(names({ agentRegistry: registry, agentId: '0' })).toBe(true)
    expect(names({ agentRegistry: registry.toLowerCase(), agentId: 0 })).toBe(true)
    const large = (2n ** 200n).toString()
    expect(names({ agentRegistry: registry, agentId: large }, large)).toBe(true)
  })

  it('is not named by another id, another registry, another chain or an inexact number', () => {
    expect(names({ agentRegistry: registry, agentId: 1 })).toBe(false)
    expect(names({ agentRegistry: registry, agentId: '00' })).toBe(false)
    expect(names({ agentRegistry: registry, agentId: null })).toBe(false)
    expect(names({ agentRegistry: registry.replace('5042', '1'), agentId: 0 })).toBe(false)
    expect(names({ agentRegistry: registry.replace('8004', '9004'), agentId: 0 })).toBe(false)
    expect(names({ agentRegistry: registry, agentId: 2 ** 60 }, (2n ** 60n).toString())).toBe(false)
  })

  it('is not named by an entry of another shape', () => {
    expect(names(null)).toBe(false)
    expect(names([registry, 0])).toBe(false)
    expect(
      namesAgent({ registrations: { 0: { agentRegistry: registry, agentId: 0 } } }, name),
    ).toBe(false)
    expect(namesAgent({}, name)).toBe(false)
  })
})

const max = (2n ** 256n - 1n).toString()

describe('the id of an agent', () => {
  it.each(['0', '1', '214', max])('takes %s', (id) => {
    expect(parseAgentId(id)).toBe(id)
  })

  it.each([
    ['a leading zero', '00'],
    ['a leading zero before digits', '07'],
    ['2^256', (2n ** 256n).toString()],
    ['nothing', ''],
    ['a sign', '-1'],
    ['hex', '0x1'],
    ['a blank', ' 1'],
    ['an exponent', '1e3'],
    ['a fraction', '1.0'],
    ['digits of another script', '١'],
    ['a number', 0],
    ['null', null],
  ])('refuses %s', (_, id) => {
    expect(parseAgentId(id)).toBeUndefined()
  })
})
