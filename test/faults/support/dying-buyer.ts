import { createBuyer } from '@arcus/client'
import type { Ledger } from '@arcus/client/ledger'
import { createFileLedger } from '@arcus/client/ledger-file'
import { privateKeyToAccount } from 'viem/accounts'

/**
 * Calls a seller by channel until it dies by SIGKILL at the moment that it is given: `before` or `after` an event of this
 * type is in the ledger, or after a `signature`, and the how many-th of them.
 */
const [url = '', shop = '', rpcUrl = '', path = '', when = '', type = '', nth = '1'] =
  process.argv.slice(2)
const account = privateKeyToAccount(process.env.PAYER_PRIVATE_KEY as `0x${string}`)
let left = Number(nth)
const die = (isHere: boolean) => {
  if (isHere && --left === 0) process.kill(process.pid, 'SIGKILL')
}

const file = createFileLedger(path)
const ledger: Ledger = {
  ...file,
  async append(event) {
    die(when === 'before' && event.type === type)
    const events = await file.append(event)
    die(when === 'after' && event.type === type)
    return events
  },
}
const buyer = createBuyer({
  url,
  signer: {
    address: account.address,
    async signTypedData(typedData) {
      const signature = await account.signTypedData(typedData as never)
      die(when === 'signature')
      return signature
    },
  },
  limits: { perCall: '$0.05', perDay: '$1' },
  ledger,
  rpcUrl,
  channels: { deposit: '$0.2' },
})
for (let n = 0; n < 5; n++) await buyer.pay(`${shop}?${n}`)
