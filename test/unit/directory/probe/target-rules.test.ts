import { describe, expect, it } from 'vitest'
import {
  checkTarget,
  isLocalAddress,
  isPublicAddress,
  MAX_URL_CHARS,
  normalAddress,
} from '../../../../src/directory/probe/target-rules.js'

const strict = {
  allowPrivateHosts: false,
  ownOrigins: ['https://pay.example.com', 'https://dir.example.com'],
}
const local = { allowPrivateHosts: true, ownOrigins: ['http://localhost:4021'] }
const isAllowed = (url: string, rules = strict) => checkTarget(url, rules).isAllowed

/** Ways to write an address of this machine, of its network or of its cloud. */
const privateHosts = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '0x7f.1',
  '0x7f000001',
  '0177.0.0.1',
  '017700000001',
  '2130706433',
  '127.0.0.1.',
  '127。0。0。1',
  '①②⑦.0.0.1',
  '１２７.0.0.1',
  '%31%32%37.0.0.1',
  '0.0.0.0',
  '0',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[2002:7f00:1::]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '169.254.169.254',
  '0xa9fea9fe',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'api.localhost',
  'api.localhost.',
  'printer.local',
  'metadata.google.internal',
  'router.home.arpa',
  'home.arpa',
  'intranet',
  'abcdefghijklmnop.onion',
]

describe('a URL to call', () => {
  it.each([
    'https://api.example.com/a?b=c',
    'https://1.1.1.1/',
    'https://[2606:4700::1111]/',
    'https://bücher.example/',
    'HTTPS://API.EXAMPLE.COM:443/',
  ])('may be %s', (url) => {
    expect(isAllowed(url)).toBe(true)
  })

  it.each(privateHosts)('does not lead to %s', (host) => {
    expect(checkTarget(`https://${host}/`, strict)).toEqual({
      isAllowed: false,
      message: expect.stringMatching(/\.$/),
    })
  })

  it.each([
    ['another scheme than https', 'http://api.example.com/'],
    ['a file', 'file:///etc/passwd'],
    ['data', 'data:application/json,{}'],
    ['another port than 443', 'https://api.example.com:8443/'],
    ['the port of plain http', 'https://api.example.com:80/'],
    ['a user name', 'https://user@api.example.com/'],
    ['a password', 'https://:secret@api.example.com/'],
    ['an address before the host', 'https://1.1.1.1@127.0.0.1/'],
    ['a dot at the end of its host', 'https://api.example.com./'],
    ['an empty part in its host', 'https://api..example.com/'],
    ['no host', 'https:///path'],
    ['one of our hosts', 'https://pay.example.com/discovery/resources'],
    ['the other of our hosts', 'https://DIR.example.com/'],
    ['no URL', 'api.example.com'],
    ['more characters than are read', `https://api.example.com/${'a'.repeat(MAX_URL_CHARS)}`],
  ])('does not have %s', (_, url) => {
    expect(isAllowed(url)).toBe(false)
  })

  it('says nothing of user name and password in its message', () => {
    expect(JSON.stringify(checkTarget('https://user:secret@127.0.0.1/', strict))).not.toContain(
      'secret',
    )
  })
})

describe("on a developer's machine a URL", () => {
  it.each([
    'http://localhost:4022/quote',
    'http://127.0.0.1:1/',
    'http://api:8080/',
    'http://10.0.0.1/',
    'https://printer.local/',
    'http://[::1]:8080/',
  ])('may be %s', (url) => {
    expect(isAllowed(url, local)).toBe(true)
  })

  it.each([
    'http://localhost:4021/verify',
    'http://169.254.169.254/',
    'http://[fd00:ec2::254]/',
    'ftp://localhost/',
    'http://user@localhost/',
    'http://x.onion/',
    'http://localhost./',
    'http://0.0.0.0/',
  ])('is still not %s', (url) => {
    expect(isAllowed(url, local)).toBe(false)
  })
})

describe('a public address', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.167.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:4860:4860::8888',
    '2001:200::1',
    '2606:4700::1111',
    '2a00::1',
    '3ffe::1',
  ])('may be %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each([
    '0.0.0.0',
    '0.255.255.255',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::1',
    '100::1',
    '1fff::1',
    '2001::1',
    '2001:1ff::1',
    '2001:db8::1',
    '2002:7f00:1::1',
    '3fff::1',
    '3fff:fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
  ])('is not %s', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it.each([
    '',
    'localhost',
    '127.1',
    '0x7f.1',
    '2130706433',
    '1.1.1.1:80',
    '[::1]',
    'x'.repeat(99),
  ])('is not %j, which resolvers and sockets do not write', (text) => {
    expect(isPublicAddress(text)).toBe(false)
  })
})

describe('a local address', () => {
  it.each(['127.0.0.1', '10.1.2.3', '172.17.0.1', '192.168.0.1', '::1', 'fd12::1'])(
    'is %s',
    (address) => {
      expect(isLocalAddress(address)).toBe(true)
    },
  )

  it.each([
    '169.254.169.254',
    'fd00:ec2::254',
    'fe80::1',
    '0.0.0.0',
    '::',
    '1.1.1.1',
    '100.64.0.1',
  ])('is not %s: what keeps secrets of a cloud is closed on every machine', (address) => {
    expect(isLocalAddress(address)).toBe(false)
  })
})

it('compares addresses in one spelling', () => {
  expect(normalAddress('2606:4700:0:0::1111')).toBe(normalAddress('2606:4700::1111'))
  expect(normalAddress('1.1.1.1')).toBe('1.1.1.1')
  expect(normalAddress('')).toBe('')
})
