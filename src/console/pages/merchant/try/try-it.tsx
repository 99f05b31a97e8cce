import { skipToken, useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { Button } from '../../../components/button.js'
import { lazyPage } from '../../../components/page.js'
import type { TryPanelProps } from './try-panel.js'

const TryPanel = lazyPage(() => import('./try-panel.js'), 'TryPanel')

/**
 * The first state of “Try it”, the same on every page: a button, whose press brings the code of the panel. Where nothing
 * is filled in before (`isPlain`), that press is the call. An API that was tried before shows how that ended.
 */
export function TryIt({
  children,
  ...called
}: Omit<TryPanelProps, 'isPressed'> & { children: ReactNode }) {
  const { merchantId, endpoint, isPlain = false } = called
  const { data: tried } = useQuery({
    queryKey: ['try', merchantId, endpoint.state.id],
    queryFn: skipToken,
  })
  const [isPressed, setIsPressed] = useState(false)
  const button = (
    <Button
      data-pay={isPlain ? '' : undefined}
      variant="primary"
      size={isPlain ? 'md' : 'sm'}
      isBusy={isPressed}
      onClick={() => setIsPressed(true)}
    >
      {children}
    </Button>
  )
  if (!isPressed && tried === undefined) return button
  return (
    <Suspense fallback={button}>
      <TryPanel {...called} isPressed={isPressed} />
    </Suspense>
  )
}
