import { Component, type ReactNode } from 'react'
import { Button } from './button.js'
import { Notice } from './notice.js'

/** Says that a page broke, instead of showing none: mostly code of a version that was replaced meanwhile. */
export class PageBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? 'unknown' }
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <Notice
        tone="bad"
        title="This page could not be shown"
        action={
          <Button size="sm" onClick={() => location.reload()}>
            Load it again
          </Button>
        }
      >
        The console may have been updated while it was open, or the connection failed. Drafts are
        kept on this device.
      </Notice>
    )
  }
}
