import {
  describeIssue,
  formatPath,
  type Listing,
  type ListingEndpoint,
  listingBody,
  merchantIdKind,
} from 'arcus-client/listing'
import { parametersIn } from '../../../../x402/calls.js'
import { priceProblem, usdToAtomic } from '../../../format/amounts.js'
import { type EndpointDraft, type ListedToken, type ListingDraft, tokenOf } from './draft.js'
import { words } from './words.js'

/** Problems by the path of their field: `name`, `endpoints[0].price`. */
export type Problems = Record<string, string>

export type Composed =
  | { ok: true; id: string; listing: Listing }
  | { ok: false; problems: Problems }

const idProblems: Partial<Record<ReturnType<typeof merchantIdKind>, string>> = {
  malformed: words.problem.malformedId,
  reserved: words.problem.reservedId,
}

/** Composes the listing to sign from the texts of the form, or says what is wrong with each field. The service checks it again. */
export function composeListing(draft: ListingDraft, tokens: readonly ListedToken[] = []): Composed {
  const problems: Problems = {}
  const id = draft.id.trim()
  const idProblem = idProblems[merchantIdKind(id)]
  if (idProblem !== undefined) problems.id = idProblem
  const listing: Listing = {
    name: draft.name.trim(),
    description: draft.description.trim(),
    payTo: draft.payTo.trim() as Listing['payTo'],
    endpoints: draft.endpoints.map((endpoint, index) =>
      composeEndpoint(endpoint, `endpoints[${index}]`, { problems, tokens }),
    ),
  }
  const checked = listingBody.safeParse(listing, { error: describeIssue })
  for (const { path, message } of checked.error?.issues ?? []) {
    problems[fieldOf(formatPath(path))] ??= words.problem.ofField(message)
  }
  return Object.keys(problems).length > 0 ? { ok: false, problems } : { ok: true, id, listing }
}

function composeEndpoint(
  draft: EndpointDraft,
  path: string,
  { problems, tokens }: { problems: Problems; tokens: readonly ListedToken[] },
): ListingEndpoint {
  const { currency } = tokenOf(draft, tokens)
  const unusable = priceProblem(draft.price, currency)
  if (unusable !== undefined) problems[`${path}.price`] = unusable
  const example = readJson(draft.example, `${path}.example`, problems)
  const schema = readJson(draft.inputSchema, `${path}.inputSchema`, problems)
  const common = {
    url: draft.url.trim(),
    title: draft.title.trim(),
    description: draft.description.trim(),
    pricing: draft.pricing,
    price: usdToAtomic(draft.price) ?? '0',
    // The signed text names the money in words too.
    ...(draft.asset !== '' && { asset: draft.asset as Listing['payTo'], currency }),
    tags: [...new Set(draft.tags.split(',').map((tag) => tag.trim()))].filter(Boolean),
    inputSchema: (schema as Record<string, unknown> | undefined) ?? null,
    output: draft.output,
  }
  const { method, toolName, transport } = draft
  const tool = {
    ...(method === 'MCP' ? { toolName: toolName.trim() } : {}),
    ...(method === 'MCP' && transport !== undefined ? { transport } : {}),
  }
  const given = { ...draft.beside, [parametersIn(method)]: example ?? {} }
  // The schema of a listing says what is wrong with it.
  return { ...common, method, ...tool, example: given } as ListingEndpoint
}

function readJson(text: string, path: string, problems: Problems): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    problems[path] = words.problem.notJson((error as Error).message)
    return undefined
  }
}

/** Returns the field of the form for the path of an issue, which may lead deeper: `endpoints[0].tags[3]`. */
function fieldOf(path: string): string {
  return /^(endpoints\[\d+\]\.\w+|\w+)/.exec(path)?.[0] ?? path
}
