/** Why a copy, a backup or a restore was not made, in one sentence for the operator. Nothing was changed. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
}
