import { mkdir, open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Money that goes back to a buyer; every change is a line of the ledger. */
export interface Refund {
  id: string
  /**
   * `planned` before the payment is settled, `due` once it is, `landed` when the buyer has the money, `dropped` when
   * there was no payment to give back, or another call with the same payment gave back what was left of it.
   */
  state: 'planned' | 'due' | 'landed' | 'dropped'
  network: `${string}:${string}`
  asset: string
  /** EIP-712 domain of the asset. */
  extra: { name: string; version: string }
  /** Units of the asset. */
  amount: string
  /** Of what was paid: by whom, and the nonce of the authorization. */
  payer: string
  paymentNonce: string
  /** Unix seconds after which the payment cannot settle any more. */
  paymentValidBefore: number
  /** Unix seconds until which the transfer that is signed for it is valid. */
  validBefore: number
  /** Hash of what brought the money, when it was told. */
  transaction?: string
}

export interface RefundLedger {
  /** Resolves when the disk has it. */
  write(refund: Refund): Promise<void>
  /** What is neither landed nor dropped. */
  pending(): Refund[]
  /** Before each round of tries: takes over from processes that share the ledger what is this one's to bring. */
  refresh?(): Promise<void>
  close(): Promise<void>
}

/** Opens a file of JSON lines that is only ever added to: it is the account of what was given back. */
export async function openRefundLedger(path: string): Promise<RefundLedger> {
  const text = await readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const pending = new Map<string, Refund>()
  const note = (refund: Refund) => {
    if (refund.state === 'landed' || refund.state === 'dropped') pending.delete(refund.id)
    else pending.set(refund.id, refund)
  }
  for (const line of text.split('\n')) {
    const refund = parseLine(line)
    if (refund !== undefined) note(refund)
  }
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a', 0o600)
  // A crash may have torn the last line; the next must not grow on it.
  if (text !== '' && !text.endsWith('\n')) await file.appendFile('\n')
  return {
    async write(refund) {
      await file.appendFile(`${JSON.stringify(refund)}\n`)
      await file.datasync()
      note(refund)
    },
    pending: () => [...pending.values()],
    close: () => file.close(),
  }
}

function parseLine(line: string): Refund | undefined {
  try {
    return JSON.parse(line) as Refund
  } catch {
    return undefined
  }
}
