import operations from '../../../../docs/operations.md?raw'
import { DocsPage } from './docs.js'

/** The manual of the operator, with the facts of this deployment in it. */
export function Operations() {
  return <DocsPage text={operations} />
}
