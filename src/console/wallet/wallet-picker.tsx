import { lazy, Suspense } from 'react'

const WalletDialog = lazy(async () => ({
  default: (await import('./wallet-dialog.js')).WalletDialog,
}))

/** Offers the wallets of this browser. Its code is loaded with the press that asks for it. */
export function WalletPicker({ onClose }: { onClose: () => void }) {
  return (
    <Suspense>
      <WalletDialog onClose={onClose} />
    </Suspense>
  )
}
