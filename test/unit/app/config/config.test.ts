import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import { type Config, readConfig, readSettings } from '../../../../src/app/config/config.js'
import { ConfigError, variableNames } from '../../../../src/app/config/env.js'
import { startWarnings } from '../../../../src/app/doctor/settings-checks.js'

const minimal = { MAINNET_RPC_URLS: 'https://rpc.mainnet.arc.io' }

function read(env: Record<string, string>) {
  return readConfig({ ...minimal, ...env })
}

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

function problems(env: Record<string, string>) {
  return problemsOf({ ...minimal, ...env })
}

describe('readConfig', () => {
  it('fills every default when only a network is named', () => {
    expect(readConfig(minimal)).toEqual({
      host: '0.0.0.0',
      port: 4021,
      baseUrl: 'http://localhost:4021',
      directoryUrl: 'http://localhost:4021',
      database: { kind: 'sqlite', path: './data/arcus.db' },
      networks: [
        {
          network: 'eip155:5042',
          chainId: 5042,
          rpcUrls: ['https://rpc.mainnet.arc.io'],
          pushUrls: [],
          assets: ['0x3600000000000000000000000000000000000000'],
          publicRpcUrls: ['https://rpc.mainnet.arc.io'],
          explorerUrl: 'https://explorer.arc.io',
          nodesSetting: 'MAINNET_RPC_URLS',
        },
      ],
      buybackAddress: undefined,
      minAmount: { least: 1n, bySymbol: {} },
      maxFeePerGasWei: 1_000_000_000_000n,
      dailyGasLimit: undefined,
      failedGasBudget: 50_000_000_000_000_000n,
      wastedGasLimit: 10n ** 18n,
      checks: { dailyLimit: 500_000n, maxAmount: 50_000n },
      settleWaitSeconds: 30,
      drainDelaySeconds: 0,
      rateLimit: { max: 6000, windowSeconds: 60 },
      trustProxy: false,
      probeAllowPrivateHosts: false,
      tryIt: true,
      identityRegistry: '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432',
      mcpAllowedOrigins: [],
      hosted: undefined,
      activityRetentionDays: 90,
      journalRetentionDays: undefined,
      newOwnersPerHour: 30,
      logLevel: 'info',
      metrics: true,
      devnet: false,
      warnings: [],
    })
  })

  it('is frozen, inner objects included', () => {
    const config = readConfig(minimal)
    for (const part of [config, config.networks, config.networks[0], config.rateLimit]) {
      expect(Object.isFrozen(part)).toBe(true)
    }
  })

  it('counts an empty or blank variable as unset', () => {
    expect(read({ PORT: '', LOG_LEVEL: '  ', BASE_URL: '' })).toEqual(readConfig(minimal))
  })

  it('lists every problem at once, each naming its variable', () => {
    const found = problemsOf({
      PORT: 'x',
      METRICS: 'yes',
      MAX_FEE_PER_GAS_GWEI: '0',
      TESTNET_ASSETS: '0x12',
    })
    expect(found).toHaveLength(6)
    const message = new ConfigError(found).message
    for (const name of [
      'PORT',
      'METRICS',
      'MAX_FEE_PER_GAS_GWEI',
      'TESTNET_ASSETS',
      'MAINNET_RPC_URLS',
    ]) {
      expect(message).toContain(name)
    }
    expect(message).toContain('6 problems')
  })

  it('names the public nodes when there is no network to serve', () => {
    expect(problemsOf({})).toEqual([
      expect.stringMatching(/https:\/\/rpc\.mainnet\.arc\.io.*https:\/\/rpc\.testnet\.arc\.io/),
    ])
  })

  it.each<[string, (config: Config) => unknown, number, number]>([
    ['PORT', ({ port }) => port, 0, 65_535],
    ['SETTLE_WAIT_SECONDS', ({ settleWaitSeconds }) => settleWaitSeconds, 1, 80],
    ['ACTIVITY_RETENTION_DAYS', (it) => it.activityRetentionDays, 1, 3_650],
    ['JOURNAL_RETENTION_DAYS', (it) => it.journalRetentionDays, 1, 3_650],
    ['NEW_OWNERS_PER_HOUR', ({ newOwnersPerHour }) => newOwnersPerHour, 0, 1_000_000],
    ['RATE_LIMIT_MAX', ({ rateLimit }) => rateLimit.max, 0, 10_000_000],
  ])('takes %s from its lower to its upper edge and nothing beyond', (name, of, min, max) => {
    expect(of(read({ [name]: String(min) }))).toBe(min)
    expect(of(read({ [name]: String(max) }))).toBe(max)
    for (const wrong of [String(min - 1), String(max + 1), '1.5', '1e2', '0x10', ' 7 x']) {
      expect(problems({ [name]: wrong })).toEqual([
        expect.stringContaining(`${name} must be a whole number from ${min} to ${max}`),
      ])
    }
  })

  const addresses = [
    ...['0x36', `0x${'0'.repeat(40)}`, '8004A818BFB912233c491871b3d84c89A494BD9e'],
    '0x8004a818BFB912233c491871b3d84c89A494BD9e',
  ]
  const usdc = '0x3600000000000000000000000000000000000000'
  it.each<[string, string[]]>([
    ['MCP_ALLOWED_ORIGINS', ['*', 'agent.example.com', 'https://a.example/page', 'https://a.b,']],
    ['METRICS', ['yes', 'TRUE', 'on', '2']],
    ['PROBE_ALLOW_PRIVATE_HOSTS', ['yes', 'TRUE', 'on', '2']],
    ['TRY_IT', ['yes', 'TRUE', 'on', '2']],
    ['LOG_LEVEL', ['verbose']],
    ['MIN_AMOUNT', ['0', '-1', '01', '0.01', '1e3', (2n ** 256n).toString(), 'EURC:900']],
    ['MIN_AMOUNT', ['1000,EURC:0', '1000,EURC', '1000,EURC:1,EURC:2']],
    ['DAILY_GAS_LIMIT_USD', ['0', '0.0', '-1', '1,5', '$1', '.5', '1.', `0.${'0'.repeat(18)}1`]],
    ['FAILED_GAS_BUDGET_USD', ['0', '1e-2']],
    ['MAX_FEE_PER_GAS_GWEI', ['0', '1.0000000001']],
    ['BASE_URL', ['pay.example.com', 'ftp://a.b', 'https://a.b/x', 'https://a.b?x=1']],
    ['BASE_URL', ['https://u@a.b', 'https://:p@a.b']],
    ['MAINNET_ASSETS', [`${usdc},`, `${usdc},0x12`, `${usdc},${usdc}`, ...addresses]],
    ['BUYBACK_ADDRESS', addresses],
    [
      'TRUST_PROXY',
      ['17', 'yes', '10.0.0.0/33', '::1/129', '10.0.0/8', '10.0.0.1/8/8', '1.2.3.4,'],
    ],
  ])('refuses %s by its name when it is one of %j', (name, wrong) => {
    for (const value of wrong) {
      expect([value, problems({ [name]: value })]).toEqual([
        value,
        [expect.stringMatching(new RegExp(`^${name} (entry|must)`))],
      ])
    }
  })

  it('hosts endpoints where the buyback wallet and a key are set', () => {
    const buyback = `0x${'ab'.repeat(20)}`
    const key = { HOSTED_PRIVATE_KEY: '0x1' }
    expect(read({ ...key, BUYBACK_ADDRESS: buyback }).hosted).toEqual({
      payTo: getAddress(buyback),
      claimSeconds: 3_600,
    })
    expect(read({ BUYBACK_ADDRESS: buyback }).hosted).toBeUndefined()
    expect(problems(key)).toEqual([expect.stringContaining('BUYBACK_ADDRESS is not')])
  })

  it('takes the origins of pages that may call the tools, and nothing with a path', () => {
    const list = 'https://agent.example.com, http://localhost:6274/'
    expect(read({ MCP_ALLOWED_ORIGINS: list }).mcpAllowedOrigins).toEqual([
      'https://agent.example.com',
      'http://localhost:6274',
    ])
  })

  it.each([
    ['METRICS', 'metrics'],
    ['PROBE_ALLOW_PRIVATE_HOSTS', 'probeAllowPrivateHosts'],
    ['TRY_IT', 'tryIt'],
  ] as const)('takes %s as true, false, 1 or 0 only', (name, key) => {
    expect(read({ [name]: 'true' })[key]).toBe(true)
    expect(read({ [name]: '1' })[key]).toBe(true)
    expect(read({ [name]: 'false' })[key]).toBe(false)
    expect(read({ [name]: '0' })[key]).toBe(false)
    for (const wrong of ['yes', 'TRUE', 'on', '2']) {
      expect(problems({ [name]: wrong })).toEqual([expect.stringContaining(name)])
    }
  })

  it('takes the levels of the logger and no other word', () => {
    for (const level of ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) {
      expect(read({ LOG_LEVEL: level }).logLevel).toBe(level)
    }
  })

  it('takes the minimum amount as plain digits from 1 up', () => {
    expect(read({ MIN_AMOUNT: '1' }).minAmount.least).toBe(1n)
    expect(read({ MIN_AMOUNT: (2n ** 256n - 1n).toString() }).minAmount.least).toBe(2n ** 256n - 1n)
    const bySymbol = read({ MIN_AMOUNT: '1000, EURC:900' }).minAmount
    expect(bySymbol).toEqual({ least: 1000n, bySymbol: { EURC: 900n } })
  })

  it('keeps dollars exactly, to the eighteenth decimal', () => {
    expect(read({ DAILY_GAS_LIMIT_USD: '25' }).dailyGasLimit).toBe(25n * 10n ** 18n)
    expect(read({ FAILED_GAS_BUDGET_USD: '0.1' }).failedGasBudget).toBe(10n ** 17n)
    expect(read({ WASTED_GAS_LIMIT_USD: '2.5' }).wastedGasLimit).toBe(25n * 10n ** 17n)
    expect(read({ FAILED_GAS_BUDGET_USD: '0.000000000000000001' }).failedGasBudget).toBe(1n)
  })

  it('takes the fee cap in gwei and warns below the floor of Arc', () => {
    expect(read({ MAX_FEE_PER_GAS_GWEI: '20' }).maxFeePerGasWei).toBe(20_000_000_000n)
    expect(read({ MAX_FEE_PER_GAS_GWEI: '20' }).warnings).toEqual([])
    const below = read({ MAX_FEE_PER_GAS_GWEI: '19.999999999' })
    expect(below.maxFeePerGasWei).toBe(19_999_999_999n)
    expect(below.warnings).toEqual([expect.stringContaining('MAX_FEE_PER_GAS_GWEI')])
    expect(problems({ MAX_FEE_PER_GAS_GWEI: '0' })).toHaveLength(1)
    expect(problems({ MAX_FEE_PER_GAS_GWEI: '1.0000000001' })).toHaveLength(1)
  })

  it('derives public hosts from the port and drops a trailing slash', () => {
    expect(read({ PORT: '80' })).toMatchObject({ baseUrl: 'http://localhost:80' })
    const config = read({
      BASE_URL: 'https://pay.example.com/',
      DIRECTORY_URL: 'http://[::1]:8080',
    })
    expect(config.baseUrl).toBe('https://pay.example.com')
    expect(config.directoryUrl).toBe('http://[::1]:8080')
  })

  it('takes SQLite paths and PostgreSQL addresses, and repeats none of them', () => {
    const database = (url: string) => read({ DATABASE_URL: url }).database
    expect(database('sqlite::memory:')).toEqual({ kind: 'sqlite', path: ':memory:' })
    expect(database('sqlite:///var/arcus.db')).toEqual({ kind: 'sqlite', path: '/var/arcus.db' })
    const url = 'postgres://arcus:hunter2@db.example:5433/arcus'
    expect(database(url)).toMatchObject({ kind: 'postgres', url, poolSize: 10 })
    expect(read({ DATABASE_URL: url, DATABASE_POOL_SIZE: '40' }).database).toMatchObject({
      poolSize: 40,
    })
    for (const wrong of [
      'sqlite:',
      './arcus.db',
      'mysql://x',
      'postgres:arcus',
      'postgres://arcus:hunter2@db',
      'postgres://arcus:hunter2@db/',
      'postgres://arcus:hun/ter2@db/arcus',
    ]) {
      const [problem = '', ...more] = problems({ DATABASE_URL: wrong })
      expect(more).toEqual([])
      expect(problem).toMatch(/^DATABASE_URL must be/)
      expect(problem).not.toContain('hun')
    }
  })

  it('serves a network per node list, mainnet first', () => {
    const { networks } = read({
      MAINNET_RPC_URLS: 'https://a.example/key, http://b.example:8545',
      TESTNET_RPC_URLS: 'https://c.example',
      TESTNET_ASSETS: '0x8004a818bfb912233c491871b3d84c89a494bd9e',
    })
    expect(networks).toMatchObject([
      { chainId: 5042, rpcUrls: ['https://a.example/key', 'http://b.example:8545'] },
      { chainId: 5042002, assets: ['0x8004A818BFB912233c491871b3d84c89A494BD9e'] },
    ])
  })

  it('takes a list of assets', () => {
    const eurc = '0xbEf5f6d51CB62b58e6A8f77868681825C6fe21c1'
    const both = read({ MAINNET_ASSETS: `${usdc}, ${eurc.toLowerCase()}` })
    expect(both.networks[0]?.assets).toEqual([usdc, eurc])
    expect(both.warnings).toEqual([])
  })

  it('names a bad node address by position and never repeats it', () => {
    const found = problems({ MAINNET_RPC_URLS: 'https://ok.example,ftp://node.example/secret-key' })
    expect(found).toEqual([
      'MAINNET_RPC_URLS entry 2 must be an http://, https://, ws:// or wss:// URL.',
    ])
    expect(problems({ MAINNET_RPC_URLS: 'https://a.example,https://a.example' })).toHaveLength(1)
    expect(problems({ MAINNET_RPC_URLS: 'https://a.example,' })).toHaveLength(1)
  })

  it('tells nodes that are asked from those that push', () => {
    const urls = 'wss://a.example/secret-key,https://a.example'
    const [network] = read({ MAINNET_RPC_URLS: urls }).networks
    expect(network?.rpcUrls).toEqual(['https://a.example'])
    expect(network?.pushUrls).toEqual(['wss://a.example/secret-key'])
    expect(JSON.stringify(network)).not.toContain('secret-key')
    expect(problems({ MAINNET_RPC_URLS: 'wss://a.example/secret-key' })).toEqual([
      'MAINNET_RPC_URLS needs an http:// or https:// URL too: those with ws:// only say when there is a block.',
    ])
  })

  it('refuses assets without the node list', () => {
    expect(problems({ TESTNET_ASSETS: '0x3600000000000000000000000000000000000000' })).toEqual([
      'TESTNET_ASSETS is set but TESTNET_RPC_URLS is not: set both, or neither.',
    ])
  })

  it('names its own nodes to wallets on the local chain alone', () => {
    const url = 'http://127.0.0.1:8545'
    const named = (env: Record<string, string>) => read(env).networks[0]?.publicRpcUrls
    expect(named({ MAINNET_RPC_URLS: url, DEVNET: 'true' })).toEqual([url])
    expect(named({ MAINNET_RPC_URLS: 'https://node.example/secret-key' })).toEqual([
      'https://rpc.mainnet.arc.io',
    ])
  })

  const webhookKey = `0x${'ab'.repeat(32)}` as const
  const warned = (env: Record<string, string>) =>
    startWarnings(read(env), { webhookKey }).map(({ name, detail }) => `${name} is ${detail}`)

  it('warns that secrets of webhooks have no key, but for the local chain', () => {
    const testnet = { MAINNET_RPC_URLS: '', TESTNET_RPC_URLS: 'https://rpc.example.com' }
    expect(startWarnings(read(testnet), { webhookKey: undefined })).toMatchObject([
      { name: 'WEBHOOK_KEY', detail: expect.stringMatching(/^unset/) },
    ])
    expect(warned(testnet)).toEqual([])
    const local = read({ DEVNET: 'true' })
    expect(startWarnings(local, { webhookKey: undefined })).toEqual([])
  })

  it('warns of a key file that others can read, and of an address in production that is this machine', () => {
    const folder = mkdtempSync(join(tmpdir(), 'keys-'))
    const file = join(folder, 'relayer.keys')
    writeFileSync(file, '', { mode: 0o644 })
    const guarded = read({ DAILY_GAS_LIMIT_USD: '25', MIN_AMOUNT: '2300' })
    const said = (env: Record<string, string>) =>
      startWarnings(guarded, { webhookKey }, env).map(({ name, detail }) => `${name} is ${detail}`)
    const readable = 'RELAYER_PRIVATE_KEYS_FILE is a file that others on this machine can read'
    expect(said({ RELAYER_PRIVATE_KEYS_FILE: file })).toEqual([readable])
    chmodSync(file, 0o600)
    expect(said({ RELAYER_PRIVATE_KEYS_FILE: file })).toEqual([])
    expect(said({ NODE_ENV: 'production' })).toEqual([
      'BASE_URL is http://localhost:4021, which is this machine',
      'DIRECTORY_URL is http://localhost:4021, which is this machine',
    ])
    rmSync(folder, { recursive: true })
  })

  it('warns of unguarded gas on mainnet, and only there', () => {
    const guarded = { DAILY_GAS_LIMIT_USD: '25', MIN_AMOUNT: '2300' }
    expect(warned({})).toEqual([
      expect.stringContaining('DAILY_GAS_LIMIT_USD is unset'),
      expect.stringContaining('MIN_AMOUNT is 1: payments below 2300'),
    ])
    expect(warned(guarded)).toEqual([])
    expect(warned({ ...guarded, MIN_AMOUNT: '2299' })).toHaveLength(1)
    expect(warned({ DEVNET: 'true' })).toEqual([])
    const forOwn = { PAY_TO_ALLOWED: 'listed', MIN_AMOUNT: '2300' }
    expect(warned(forOwn)).toEqual([])
  })

  it('takes addresses, the word listed or both as PAY_TO_ALLOWED', () => {
    const shop = `0x${'ab'.repeat(20)}`
    const allowed = (text: string) => read({ PAY_TO_ALLOWED: text }).payToAllowed
    expect(allowed('listed')).toEqual({ addresses: [], listed: true })
    expect(allowed(`${shop}, listed`)).toMatchObject({
      addresses: [getAddress(shop)],
      listed: true,
    })
    expect(allowed(shop)).toMatchObject({ listed: false })
    for (const wrong of ['everybody', `${shop},${shop}`, `${shop},`, `0x${'0'.repeat(40)}`]) {
      expect(problems({ PAY_TO_ALLOWED: wrong })).toEqual([
        expect.stringContaining('PAY_TO_ALLOWED'),
      ])
    }
  })

  it.each(['MAINNET_ASSETS', 'BUYBACK_ADDRESS'])('takes %s in either case', (name) => {
    const upper = `0x${'8004A818BFB912233C491871B3D84C89A494BD9E'}`
    for (const right of [upper, upper.toLowerCase()]) {
      expect(() => read({ [name]: right })).not.toThrow()
    }
  })

  it('does not repeat a key that was pasted under another name', () => {
    const key = 'ab'.repeat(32)
    const found = problems({
      BUYBACK_ADDRESS: `0x${key}`,
      BASE_URL: 'https://user:hunter2@x.example',
    })
    expect(found).toHaveLength(2)
    expect(found.join()).not.toContain(key)
    expect(found.join()).not.toContain('hunter2')
  })

  it('takes proxies as nobody, everybody, a number or a list of ranges', () => {
    expect(read({ TRUST_PROXY: 'true' }).trustProxy).toBe(true)
    expect(read({ TRUST_PROXY: 'true' }).warnings).toEqual([expect.stringContaining('TRUST_PROXY')])
    expect(read({ TRUST_PROXY: 'false' }).trustProxy).toBe(false)
    expect(read({ TRUST_PROXY: '0' }).trustProxy).toBe(false)
    expect(read({ TRUST_PROXY: '1' }).trustProxy).toBe(1)
    expect(read({ TRUST_PROXY: '16' }).trustProxy).toBe(16)
    expect(read({ TRUST_PROXY: '10.0.0.0/8, ::1, fd00::/128' }).trustProxy).toEqual([
      '10.0.0.0/8',
      '::1',
      'fd00::/128',
    ])
  })

  it('refuses a half that would not find the other one', () => {
    const postgres = { DATABASE_URL: 'postgres://a@b/c' }
    const url = 'https://arcus.example'
    expect(problems({ SERVE_ONLY: 'facilitator', DIRECTORY_URL: url })).toEqual([
      expect.stringContaining('SERVE_ONLY needs a PostgreSQL'),
    ])
    expect(problems({ SERVE_ONLY: 'facilitator', ...postgres })).toEqual([
      expect.stringContaining('needs DIRECTORY_URL'),
    ])
    expect(problems({ SERVE_ONLY: 'directory', ...postgres })).toEqual([
      expect.stringContaining('needs BASE_URL'),
    ])
    const directory = { SERVE_ONLY: 'directory', BASE_URL: url, ...postgres }
    expect(read(directory).only).toBe('directory')
    expect(startWarnings(read(directory), { webhookKey: `0x${'ab'.repeat(32)}` })).toEqual([])
  })

  it('refuses probing of private hosts in production only', () => {
    expect(problems({ PROBE_ALLOW_PRIVATE_HOSTS: 'true', NODE_ENV: 'production' })).toHaveLength(1)
    expect(problems({ PROBE_ALLOW_PRIVATE_HOSTS: 'false', NODE_ENV: 'production' })).toEqual([])
    expect(problems({ PROBE_ALLOW_PRIVATE_HOSTS: '1', NODE_ENV: 'test' })).toEqual([])
  })

  it('ignores unknown variables but warns of a slip of the pen', () => {
    const env = {
      RELAYER_PRIVATE_KEY: '0xsecret',
      MIN_AMOUT: '1',
      PATH: '/bin',
      SORT: '1',
      HOME: '/',
    }
    const { warnings } = read(env)
    expect(warnings).toEqual([
      'MIN_AMOUT is not a setting and is ignored: did you mean MIN_AMOUNT?',
      'RELAYER_PRIVATE_KEY is not a setting and is ignored: did you mean RELAYER_PRIVATE_KEYS?',
    ])
    expect(read({ DAILY_GAS_LIMIT: '25', RPC_URL: 'http://a' }).warnings).toEqual([
      'DAILY_GAS_LIMIT is not a setting and is ignored: did you mean DAILY_GAS_LIMIT_USD?',
      'RPC_URL is not a setting and is ignored: did you mean MAINNET_RPC_URLS?',
    ])
    expect(read({ TEST_DATABASE: '1', URL: 'a', LIMIT: '1', LIMIT_MAX: '1' }).warnings).toEqual([
      expect.stringMatching(/^LIMIT_MAX /),
    ])
    expect(read({ MIN_AMOU: '1' }).warnings).toHaveLength(1)
    expect(read({ MIN_AMO: '1' }).warnings).toEqual([])
  })
})

describe('readSettings', () => {
  it('names a setting that is nearly right when the right one is missing', () => {
    const env = { MAINNET_RPC_URL: 'http://127.0.0.1:1', RELAYER_PRIVATE_KEY: '0xsecret' }
    const said = (() => {
      try {
        return readSettings(env)
      } catch (error) {
        return (error as Error).message
      }
    })()
    expect(said).toContain('MAINNET_RPC_URLS and TESTNET_RPC_URLS are both unset')
    expect(said).toContain(
      'MAINNET_RPC_URL is not a setting and is ignored: did you mean MAINNET_RPC_URLS?',
    )
    expect(said).toContain('did you mean RELAYER_PRIVATE_KEYS?')
    expect(said).not.toContain('secret')
  })
})

describe('.env.example', () => {
  it('documents every variable once, and sets none', () => {
    const lines = readFileSync(new URL('../../../../.env.example', import.meta.url), 'utf8').split(
      '\n',
    )
    const documented = lines.flatMap((line) => /^#([A-Z_]+)=/.exec(line)?.[1] ?? [])
    expect(documented.sort()).toEqual([...variableNames].sort())
    expect(variableNames.length).toBeLessThanOrEqual(51)
    expect(lines.length).toBeLessThanOrEqual(128)
    expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([])
  })
})
