import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { readSettings } from '../../../../src/app/config/config.js'
import { ConfigError } from '../../../../src/app/config/env.js'
import { readKeyOf, readSecrets } from '../../../../src/app/config/secrets.js'

const keyA = `0x${'a1'.repeat(32)}`
const keyB = `0x${'b2'.repeat(32)}`
const order = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
const lastKey = `0x${order.slice(0, -1)}0`

const folder = mkdtempSync(join(tmpdir(), 'arcus-keys-'))
afterAll(() => rmSync(folder, { recursive: true }))

function keyFile(text: string): string {
  const path = join(folder, `${Math.random()}`)
  writeFileSync(path, text)
  return path
}

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

const problems = (keys: string) => problemsOf(() => readSecrets({ RELAYER_PRIVATE_KEYS: keys }))
const fileProblems = (path: string) =>
  problemsOf(() => readSecrets({ RELAYER_PRIVATE_KEYS_FILE: path }))

describe('readSecrets', () => {
  it('reads a comma list in its order, with or without prefix, in any case', () => {
    const list = `${keyB.toUpperCase().replace('0X', '0x')}, ${keyA.slice(2)}`
    expect(readSecrets({ RELAYER_PRIVATE_KEYS: list }).relayerPrivateKeys).toEqual([keyB, keyA])
  })

  it('reads no key of a relayer for a directory alone', () => {
    const env = { SERVE_ONLY: 'directory', RELAYER_PRIVATE_KEYS_FILE: '/nowhere' }
    const signer = { RELAYER_SIGNER_URL: 'https://signer.example' }
    const { relayerPrivateKeys, relayerSigner } = readSecrets({ ...env, ...signer })
    expect([relayerPrivateKeys, relayerSigner]).toEqual([[], undefined])
  })

  it('reads a file of lines, skipping blanks and comments', () => {
    const path = keyFile(`# relayers\r\n${keyA}\r\n\n  ${keyB}\n`)
    expect(readSecrets({ RELAYER_PRIVATE_KEYS_FILE: path }).relayerPrivateKeys).toEqual([
      keyA,
      keyB,
    ])
  })

  it('takes keys from 1 to the last of the curve and none beyond', () => {
    const one = `0x${'0'.repeat(63)}1`
    expect(problems(`${one},${lastKey}`)).toEqual([])
    for (const wrong of [`0x${'0'.repeat(64)}`, `0x${order}`, `0x${'f'.repeat(64)}`]) {
      expect(problems(wrong)).toEqual([expect.stringContaining('entry 1 is not a private key')])
    }
  })

  it('names a malformed key by position and repeats no value', () => {
    const found = problems(`${keyA},${keyB}0,nonsense,,${keyA}`)
    expect(found).toHaveLength(4)
    expect(found.map((problem) => /entry (\d)/.exec(problem)?.[1])).toEqual(['2', '3', '4', '5'])
    expect(found[3]).toContain('repeats RELAYER_PRIVATE_KEYS entry 1')
    expect(found.join()).not.toMatch(/a1a1|b2b2|nonsense/)
  })

  it('finds a repeated key in another spelling', () => {
    expect(problems(`${keyA},${keyA.slice(2).toUpperCase()}`)).toHaveLength(1)
  })

  it('asks for keys when none are set, and for one source when both are', () => {
    expect(problemsOf(() => readSecrets({}))).toEqual([expect.stringContaining('must be set')])
    const both = { RELAYER_PRIVATE_KEYS: keyA, RELAYER_PRIVATE_KEYS_FILE: keyFile(keyB) }
    expect(problemsOf(() => readSecrets(both))).toEqual([expect.stringContaining('both set')])
  })

  it('says that a file cannot be read, or holds no key, or which line is wrong', () => {
    expect(fileProblems(join(folder, 'absent'))).toEqual([expect.stringContaining('(ENOENT)')])
    expect(fileProblems(folder)).toEqual([expect.stringContaining('cannot be read')])
    expect(fileProblems(keyFile('# none yet\n'))).toEqual([expect.stringContaining('without keys')])
    expect(fileProblems(keyFile(`${keyA}\n\nbroken\n`))).toEqual([
      expect.stringContaining('line 3'),
    ])
  })

  it('does not repeat a key that was pasted in place of the path', () => {
    expect(fileProblems(keyA).join()).not.toContain('a1a1')
  })
})

describe('the key of hosted endpoints', () => {
  const hosting = { RELAYER_PRIVATE_KEYS: keyA }

  it('is read where endpoints are hosted', () => {
    const { hostedPrivateKey } = readSecrets({ ...hosting, HOSTED_PRIVATE_KEY: keyB })
    expect(hostedPrivateKey).toBe(keyB)
    expect(readSecrets(hosting).hostedPrivateKey).toBeUndefined()
  })

  it('is a key, and none of a relayer, and is not repeated in a complaint', () => {
    const said = (key: string) =>
      problemsOf(() => readSecrets({ ...hosting, HOSTED_PRIVATE_KEY: key })).join()
    expect(said('0x1')).toMatch(/HOSTED_PRIVATE_KEY is not a private key/)
    expect(said(`0x${'0'.repeat(64)}`)).toMatch(/HOSTED_PRIVATE_KEY is not a private key/)
    expect(said(keyA)).toMatch(/HOSTED_PRIVATE_KEY repeats RELAYER_PRIVATE_KEYS entry 1/)
    expect(said(keyA)).not.toContain('a1a1')
  })
})

describe('the key of attestations', () => {
  const relayers = { RELAYER_PRIVATE_KEYS: keyA }

  it('is read from the setting or a file, and unset where neither is there', () => {
    const read = (env: Record<string, string>) =>
      readSecrets({ ...relayers, ...env }).attestationPrivateKey
    expect(read({ ATTESTATION_PRIVATE_KEY: keyB })).toBe(keyB)
    expect(read({ ATTESTATION_PRIVATE_KEY_FILE: keyFile(`${keyB}\n`) })).toBe(keyB)
    expect(read({})).toBeUndefined()
    expect(inspect(readSecrets({ ...relayers, ATTESTATION_PRIVATE_KEY: keyB }))).not.toContain('b2')
  })

  it('is a key of its own, set once, and is not repeated in a complaint', () => {
    const said = (env: Record<string, string>) =>
      problemsOf(() => readSecrets({ ...relayers, ...env })).join()
    expect(said({ ATTESTATION_PRIVATE_KEY: '0x1' })).toMatch(/ATTESTATION_PRIVATE_KEY is not a/)
    expect(said({ ATTESTATION_PRIVATE_KEY_FILE: keyFile('') })).toMatch(/_FILE is not a private/)
    expect(said({ ATTESTATION_PRIVATE_KEY_FILE: folder })).toMatch(/_FILE names a file that cannot/)
    expect(
      said({ ATTESTATION_PRIVATE_KEY: keyB, ATTESTATION_PRIVATE_KEY_FILE: keyFile(keyB) }),
    ).toMatch(/both set/)
    const repeated = said({ ATTESTATION_PRIVATE_KEY: keyA })
    expect(repeated).toMatch(/repeats RELAYER_PRIVATE_KEYS entry 1/)
    expect(repeated).not.toContain('a1a1')
    const hosting = { HOSTED_PRIVATE_KEY: keyB }
    expect(said({ ...hosting, ATTESTATION_PRIVATE_KEY: keyB })).toMatch(
      /repeats HOSTED_PRIVATE_KEY/,
    )
  })
})

describe('keys elsewhere', () => {
  const wallets = ['0xF39fd6e51aad88F6F4ce6aB8827279cffFb92266', `0x${'b2'.repeat(20)}`]
  const signer = {
    RELAYER_SIGNER_URL: 'https://user:word@signer.example:9000',
    RELAYER_SIGNER_ADDRESSES: wallets.join(', ').toLowerCase(),
  }

  it('need no key in this process, and may stand beside some', () => {
    const secrets = readSecrets(signer)
    expect(secrets.relayerPrivateKeys).toEqual([])
    expect(secrets.relayerSigner).toEqual({
      url: signer.RELAYER_SIGNER_URL,
      addresses: wallets.map((wallet) => wallet.toLowerCase()),
    })
    expect(inspect(secrets)).not.toContain('word')
    const both = readSecrets({ ...signer, RELAYER_PRIVATE_KEYS: keyA })
    expect(both.relayerPrivateKeys).toEqual([keyA])
  })

  it.each([
    [{ ...signer, RELAYER_SIGNER_URL: '' }, 'belong together'],
    [{ ...signer, RELAYER_SIGNER_URL: 'ftp://a.example' }, 'RELAYER_SIGNER_URL is not'],
    [{ ...signer, RELAYER_SIGNER_ADDRESSES: '0x12' }, 'entry 1 must be an address'],
    [{ ...signer, RELAYER_SIGNER_ADDRESSES: wallets[0] ?? '' }, 'checksum'],
    [
      { ...signer, RELAYER_SIGNER_ADDRESSES: `${wallets[1]},0x${'B2'.repeat(20)}` },
      'entry 2 is there twice',
    ],
  ])('are refused half named: %j', (env, problem) => {
    expect(problemsOf(() => readSecrets(env))).toEqual([expect.stringContaining(problem)])
  })
})

describe('readSettings', () => {
  it('reports the problems of settings and keys together', () => {
    const found = problemsOf(() =>
      readSettings({ PORT: 'x', MAINNET_RPC_URLS: 'https://a.example' }),
    )
    expect(found).toEqual([
      expect.stringContaining('PORT'),
      expect.stringContaining('RELAYER_PRIVATE_KEYS'),
    ])
  })

  it('gives settings and keys apart', () => {
    const env = { MAINNET_RPC_URLS: 'https://a.example', RELAYER_PRIVATE_KEYS: keyA }
    const { config, secrets } = readSettings(env)
    expect(inspect(config, { depth: 9 })).not.toContain('a1a1')
    expect(secrets.relayerPrivateKeys).toEqual([keyA])
  })
})

describe('the key file of an option', () => {
  it('holds one key, and no complaint repeats it or the path', () => {
    expect(readKeyOf('--key-file', keyFile(`${keyA}\n`))).toBe(keyA)
    const wrong = keyFile(`${keyA}\n${keyB}\n`)
    const [said] = problemsOf(() => readKeyOf('--key-file', wrong))
    expect(said).toMatch(/^--key-file names a file without a private key/)
    expect(said).not.toContain(wrong)
    expect(problemsOf(() => readKeyOf('--key-file', keyFile(`0x${order}`)))).toHaveLength(1)
    expect(problemsOf(() => readKeyOf('--key-file', folder)).join()).toMatch(/cannot be read/)
  })
})

describe('the settings of webhooks', () => {
  const relayers = { RELAYER_PRIVATE_KEYS: keyA }
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const url = 'http://alerts.internal:9000/arcus'
  const said = (env: Record<string, string>) =>
    problemsOf(() => readSecrets({ ...relayers, ...env })).join()

  it('are a key, and a URL with its secret, which are not printed', () => {
    const read = readSecrets({
      ...relayers,
      WEBHOOK_KEY: keyB.slice(2),
      OPERATOR_WEBHOOK_URL: url,
      OPERATOR_WEBHOOK_SECRET: secret,
    })
    expect(read.webhookKey).toBe(keyB)
    expect(read.operatorWebhook).toEqual({ url, secret: Buffer.alloc(32, 7) })
    expect(inspect(read)).not.toMatch(/alerts|b2b2/)
    expect(readSecrets(relayers)).toMatchObject({})
    expect(readSecrets(relayers).operatorWebhook).toBeUndefined()
  })

  it('are refused by name where they are half or wrong', () => {
    expect(said({ WEBHOOK_KEY: 'secret' })).toMatch(/WEBHOOK_KEY is not a key/)
    expect(said({ OPERATOR_WEBHOOK_URL: url })).toMatch(/belong together/)
    expect(said({ OPERATOR_WEBHOOK_SECRET: secret })).toMatch(/belong together/)
    const both = { OPERATOR_WEBHOOK_URL: url, OPERATOR_WEBHOOK_SECRET: secret }
    for (const wrong of ['alerts', 'ftp://a.example', 'https://u:p@a.example']) {
      expect(said({ ...both, OPERATOR_WEBHOOK_URL: wrong })).toMatch(/_URL is not an http/)
    }
    for (const wrong of ['whsec_c2hvcnQ=', secret.slice(6), `whsec_${'A'.repeat(200)}`]) {
      expect(said({ ...both, OPERATOR_WEBHOOK_SECRET: wrong })).toMatch(/_SECRET is not a secret/)
    }
  })
})

describe('the keys of paid checks', () => {
  const relayers = { RELAYER_PRIVATE_KEYS: keyA }

  it('are a list, none by default, and are not printed', () => {
    const read = (env: Record<string, string>) => readSecrets({ ...relayers, ...env })
    expect([...read({ CHECK_PRIVATE_KEYS: keyB }).checkPrivateKeys]).toEqual([keyB])
    expect([...read({}).checkPrivateKeys]).toEqual([])
    expect(inspect(read({ CHECK_PRIVATE_KEYS: keyB }))).not.toContain('b2')
  })

  it('have no other job, and are not repeated in a complaint', () => {
    const said = (env: Record<string, string>) =>
      problemsOf(() => readSecrets({ ...relayers, ...env })).join()
    expect(said({ CHECK_PRIVATE_KEYS: `${keyB},0x1` })).toMatch(/entry 2 is not a private key/)
    const repeated = said({ CHECK_PRIVATE_KEYS: keyA })
    expect(repeated).toMatch(/CHECK_PRIVATE_KEYS entry 1 repeats RELAYER_PRIVATE_KEYS entry 1/)
    expect(repeated).not.toContain('a1a1')
    const both = { CHECK_PRIVATE_KEYS: keyB, ATTESTATION_PRIVATE_KEY: keyB }
    expect(said(both)).toMatch(/ATTESTATION_PRIVATE_KEY repeats CHECK_PRIVATE_KEYS entry 1/)
  })
})
