import { Notice } from '../components/notice.js'
import { describeError, isRejection } from '../wallet/wallet-error.js'

/** How a signed write ended, or that the wallet is waiting. */
export function WriteOutcome({
  write,
  done,
}: {
  write: { isPending: boolean; isSuccess: boolean; error: unknown }
  done: string
}) {
  if (write.isPending) {
    return (
      <p role="status" className="text-sm text-muted">
        Answer in the wallet.
      </p>
    )
  }
  if (write.error !== null) {
    const rejected = isRejection(write.error)
    return (
      <Notice tone={rejected ? 'warn' : 'bad'} title={rejected ? 'Not signed' : 'Not done'}>
        {describeError(write.error)}
      </Notice>
    )
  }
  return write.isSuccess ? <Notice tone="ok">{done}</Notice> : null
}
