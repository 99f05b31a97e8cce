import { writeSync } from 'node:fs'
import { entriesOf, type LedgerEvent } from '@arcus/client/ledger'
import { createFileLedger } from '@arcus/client/ledger-file'

/**
 * Books calls of three days ago into a small ledger until it is killed, as a buyer does, and writes a line for each step
 * that is on disk: `s` for a signature that may leave, `p` for a call that is over.
 */
const [path = '', lane = ''] = process.argv.slice(2)
const ledger = createFileLedger(path, { maxBytes: 6_000 })
const network = 'eip155:5042'
const asset = '0x3600000000000000000000000000000000000000'
const payment = { network, payer: '0x1', nonce: '0x2', asset, method: 'eip3009' } as const

for (let n = 0; ; n++) {
  const at = Date.now() - 3 * 86_400_000
  const base = { v: 1, id: `${lane}-${process.pid}-${n}`, at } as const
  const seller = { network, asset, payTo: `0x${lane}`, host: `${lane}.example` }
  await ledger.append({ ...base, type: 'reserved', amount: '1', ...seller, call: 'digest' })
  const signed: LedgerEvent = { ...base, type: 'signed', payment, validBefore: at / 1_000 }
  const entries = entriesOf(await ledger.append(signed))
  if (entries.find(({ id }) => id === base.id)?.state !== 'signed') continue
  writeSync(1, 's\n')
  await ledger.append({ ...base, type: 'settled', amount: '1', transaction: '0xab' })
  writeSync(1, 'p\n')
}
