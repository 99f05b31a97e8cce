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
