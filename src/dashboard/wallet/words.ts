/** The texts about the account in the header, and about a wallet that cannot sign here. */
export const accountWords = {
  connect: 'Connect wallet',
  account: (address: string) => `Account ${address}`,
  connectedWith: (wallet: string) => `Connected with ${wallet}`,
  copyAddress: 'Copy address',
  copied: 'The address is copied.',
  copyRefused: 'The browser did not allow copying.',
  seeInExplorer: 'Show in the block explorer',
  switchWallet: 'Switch wallet',
  signOut: 'Sign out',
  signedOut: 'You are signed out. The wallet stays connected.',
  disconnect: 'Disconnect wallet',

  otherChain: (chainId: number) => `The wallet is on another chain (${chainId})`,
  otherChainText: (name: string, chainId: number) =>
    `Listings are signed on ${name} (${chainId}). Arcus asks the wallet to switch, and to add the chain if it is missing.`,
  switchChain: (name: string) => `Switch to ${name}`,
  otherAddress: 'Nothing can be signed at this address',
  otherAddressText: (opened: string, own: string) =>
    `You opened ${opened}. This directory accepts only signatures made for ${own}, so that no other site can collect them.`,
  openAt: (host: string) => `Open it at ${host}`,
}

/** The texts about choosing a wallet, and about what was signed with it or was not. */
export const walletWords = {
  pick: 'Connect a wallet',
  noWallet:
    'No wallet was found in this browser. Install one as an extension and load this page again, or open the page in the browser of a wallet app.',
  signaturesOnly:
    'Arcus sees your address and asks for signatures. A listing needs no transaction. A payment may need an approval before it, and the page says so first.',
  browserWallet: 'Browser wallet',
  onPhone: 'A wallet on your phone',
  apps: { metaMask: 'MetaMask', coinbase: 'Coinbase Wallet', trust: 'Trust Wallet' },
  openIn: (app: string) => `Open in ${app}`,

  answer: 'Answer in the wallet.',
  notSigned: 'Not signed',
  notDone: 'Not done',
  refused: 'You refused in the wallet. Nothing was sent, and nothing is lost here.',
  busy: 'The wallet is already waiting for your answer. Open it and answer there.',
  notAllowed: 'The wallet does not let this page use the account. Connect it again.',
  noReason: 'The wallet gave no reason.',
  connectFirst: 'Connect a wallet first.',
  otherOrigin: (origin: string) =>
    `Open this page at ${origin} to sign: the directory takes signatures for that address only.`,
  otherAccount: 'The wallet has changed to another account. Sign in again.',
  noNetwork: 'This Arcus has no network for listings, so nothing can be signed.',
  explorer: 'Explorer',
} as const
