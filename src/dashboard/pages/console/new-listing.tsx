import { PageTitle } from '../../components/page-title.js'
import { ListingEditor } from '../../listing/listing-editor.js'

export function NewListing() {
  return (
    <>
      <PageTitle title="List an API">
        Paste the URL of an endpoint that answers 402. The wallet is asked last, and once.
      </PageTitle>
      <ListingEditor />
    </>
  )
}
