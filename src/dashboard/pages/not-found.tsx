import { ButtonLink } from '../components/button.js'
import { Empty } from '../components/card.js'
import { useTitle } from '../components/page-title.js'

export function NotFound() {
  useTitle('Not found')
  return (
    <Empty
      isPage
      title="There is no such page"
      action={<ButtonLink href="/">To the directory</ButtonLink>}
    >
      The address may be mistyped, or the listing was deleted.
    </Empty>
  )
}
