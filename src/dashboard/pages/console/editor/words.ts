import { plural } from '../../../format/amounts.js'

/** The texts of the listing editor, by screen. A name in braces is the place of an element. */
export const words = {
  draft: {
    stale: 'The listing has changed since you began this draft',
    staleNote: 'Saving your draft would undo that change.',
    keepMine: 'Keep my draft',
    discardMine: 'Discard my draft',
    kept: 'This device kept your draft',
    keptNote: 'Last changed {when}.',
    discard: 'Discard it',
    refused: 'Not saved: the service refused it',
    refusedNote: 'See the fields marked below. Nothing you wrote is lost.',
  },

  form: {
    endpoints: 'Endpoints',
    endpointsNote:
      'URL, price and parameters of each endpoint. Arcus reads most of it from the 402 answer.',
    openImport: 'Import from an OpenAPI file',
    merchant: 'Merchant',
    merchantNote: 'The name behind the endpoints, and the address that receives the payments.',
    name: 'Name',
    id: 'Id',
    idNew: 'It is part of the address of your page, and you cannot change it later.',
    idKept: 'An id never changes.',
    payTo: 'Payout address',
    payToExample: '0x…',
    payToNote: 'Every endpoint must ask for payment to this address.',
    useWallet: 'Use my wallet',
    description: 'Description',
    review: 'Review changes',
    nothingSent: 'Nothing is sent yet. This device keeps your draft.',
    problems: (count: number) =>
      plural(count, {
        one: 'One field needs your attention.',
        other: `${count} fields need your attention.`,
      }),
  },

  problem: {
    otherOwner: 'This id belongs to another owner. Choose another id.',
    malformedId:
      'Use 3 to 40 lower-case letters, digits and hyphens. A hyphen cannot be first or last.',
    reservedId: 'Arcus keeps this id for itself. Choose another.',
    mistyped:
      'This address looks mistyped: its EIP-55 checksum is wrong. Copy it again, or write it in lower case if every digit is right.',
    notJson: (reason: string) => `This is not JSON: ${reason}`,
    /** A reason of the listing’s schema, such as `must not be empty`. */
    ofField: (reason: string) => `It ${reason}.`,
    ofEndpoint: (verdict: string, reason: string) => `${verdict}. ${reason}`,
  },

  paste: {
    first: 'URL of your paid endpoint',
    another: 'URL of another endpoint',
    example: 'https://api.example.com/quote',
    note: 'Arcus calls it once, without paying, and reads what its 402 answer asks for.',
    method: 'Method',
    anyMethod: 'Any method',
    tool: 'MCP tool',
    check: 'Check endpoint',
    urlFirst: 'Paste a URL first.',
    checking: 'Arcus calls it now. A slow server may take five seconds.',
    notChecked: 'It could not be checked',
    unpayable: 'It was added below, and cannot be paid yet',
    byHand: 'Fill in by hand',
    follow: 'Check that address',
    listable:
      'You can list it anyway. Until it answers, it is unverified, and the default list of the directory leaves it out.',
    notListable: 'It cannot be saved like this. Correct it and check again.',
    tools: 'Tools of the MCP server',
    addTool: 'Check and add',
    addNamed: (tool: string) => `Check and add ${tool}`,
  },

  endpoint: {
    legend: (name: string) => `Endpoint ${name}`,
    new: 'New endpoint',
    differs: 'Differs from the endpoint',
    remove: 'Remove',
    removeNamed: (name: string) => `Remove ${name}`,
    removeThis: 'Remove this endpoint',
    url: 'URL',
    toolName: 'Name of the tool',
    toolNote: 'As the MCP server at the URL lists it. Each tool is an endpoint of its own.',
    title: 'Title',
    price: (symbol: string) => `Price in ${symbol}`,
    priceExample: '0.01',
    maximum: 'The highest price of a call.',
    token: 'Token',
    pricing: 'Pricing',
    fixed: 'Fixed',
    metered: 'Metered, up to the price',
    tags: 'Tags',
    tagsNote: 'Separated by commas.',
    queryParams: 'Example parameters (JSON)',
    body: 'Example body (JSON)',
    arguments: 'Example arguments (JSON)',
    called: 'Arcus calls the endpoint with these, without paying.',
    notCalled: (method: string) =>
      `Arcus never calls ${method} endpoints, so this one stays unverified.`,
    inputSchema: 'Input schema (JSON Schema)',
    inputSchemaNote: 'Agents need it to use the endpoint as a tool.',
    checkAgain: 'Check the endpoint again',
    urlFirst: 'Give the URL first.',
    live: 'The endpoint is live. Its price and parameters are filled in.',
  },

  /** The answer of the last check, beside the fields of an endpoint. */
  found: {
    label: 'What this endpoint asks for',
    price: 'The endpoint asks for',
    payTo: 'To be paid to',
    network: 'On network',
    checked: 'Checked {when}.',
    otherPrice: (asks: string) =>
      `The endpoint asks for ${asks}. Buyers pay what it asks for, not what the listing says.`,
    otherPayTo: (asks: string, listed: string) =>
      `The endpoint asks for payment to ${asks}, and the listing names ${listed}. It is refused unless both name the same address.`,
  },

  import: {
    file: 'OpenAPI file',
    fileNote: 'JSON or YAML, version 3. The file stays on this device.',
    server: 'Server',
    serverExample: 'https://api.example.com',
    serverNote: 'Needed only if the file names no server, or a part of its address.',
    notRead: 'The file could not be read',
    chooseFirst: 'Choose an operation first.',
    calls:
      'Arcus calls each endpoint once, without paying. It never calls PUT, PATCH and DELETE endpoints.',
    check: (count: number) => `Check and add ${count}`,
    stop: 'Stop',
    progress: 'Checked',
    checked: (done: number, total: number) => `${done} of ${total} checked`,
    waiting: (done: number, total: number) =>
      `${done} of ${total} checked. Arcus asks to wait a moment.`,
    result: ({ added, leftOut, left }: { added: number; leftOut: number; left: number }) =>
      [
        `${added} added below`,
        ...(leftOut === 0 ? [] : [`${leftOut} left out`]),
        ...(left === 0 ? [] : [`${left} not checked`]),
      ].join(', '),
    enterPrices: 'Enter the prices of PUT, PATCH and DELETE endpoints: Arcus never calls them.',
    operations: 'Operations of the file',
    none: 'Nothing in this file can be listed.',
    skipped: (count: number) => `${count} cannot be listed`,
  },

  /** The reasons why a file, or an operation in it, is not taken. */
  openApi: {
    noPaths: 'This is not an OpenAPI file: it has no paths.',
    oldVersion: 'Only OpenAPI 3 can be read. Convert the file first.',
    tooLarge: 'The file is larger than 4 MB.',
    notJson: (reason: string) => `The file is not JSON: ${reason}`,
    notYaml: (reason: string) => `The file is neither JSON nor YAML: ${reason}`,
    tooMany: (max: number) => `A listing has at most ${max} endpoints.`,
    unlisted: 'OPTIONS and TRACE cannot be listed.',
    noServer: 'The file names no server for it.',
    noExample: 'Its path has a parameter without an example.',
    noUrl: 'Its address is not a URL.',
    otherBody: 'Its body is neither JSON nor form-data nor text.',
  },

  review: {
    title: 'What you sign',
    note: 'Read it once more. The wallet shows the same payout address.',
    unchanged: 'Nothing changes',
    unchangedNote:
      'The listing is already like this. If you sign again, Arcus only checks its endpoints again.',
    differs: (name: string) => `${name}: the listing differs from the endpoint`,
    unpayable: (name: string) => `${name}: the endpoint cannot be paid yet`,
    merchant: 'Merchant',
    paidTo: 'Paid to',
    signedBy: 'Signed by',
    nobody: 'nobody yet',
    ofAnother: 'Another wallet owns this listing',
    switchTo: 'Switch to {wallet} to sign.',
    switchFirst: 'Another wallet owns this listing. Switch to that wallet above.',
    notSaved: 'Not saved',
    connect: 'Connect wallet to sign',
    list: 'Sign and list',
    save: 'Sign and save',
    back: 'Back to editing',
    answerFirst: 'Answer in the wallet first.',
    signing: 'Answer in the wallet. Then Arcus checks each endpoint once.',
    payToChanges: 'The payout address changes',
    payToChangesNote:
      'As soon as you sign, all payments of this listing must go to the new address.',
    kinds: { added: 'New', removed: 'Removed', changed: 'Changed' },
    before: 'before:',
    after: 'after:',
    fields: {
      name: 'Name',
      description: 'Description',
      title: 'Title',
      pricing: 'Pricing',
      price: 'Price',
      tags: 'Tags',
      example: 'Example',
      inputSchema: 'Input schema',
      output: 'Output',
    },
  },

  saved: {
    listed: 'Listed',
    saved: 'Saved',
    text: (revision: number) =>
      `{id} is saved as revision ${revision}. Its live endpoints are in the directory now.`,
    watch: 'Watch payments arrive',
    publicPage: 'See it as visitors do',
    another: 'List another',
    editAgain: 'Edit again',
    unproven: 'Payments are not counted for you yet',
    unprovenNote:
      'The payout address has another key than the owner. Its key has to confirm you once.',
    confirm: 'Confirm the address',
    name: 'About the name',
    editName: 'Edit the name',
    checkAgain: 'Check it again',
    editListing: 'Edit the listing',
    answer: 'About the 402 answer',
  },
} as const
