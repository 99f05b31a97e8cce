import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'

/** An account that nobody else has. */
export function anAccount(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey())
}
