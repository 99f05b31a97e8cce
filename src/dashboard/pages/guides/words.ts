/** The texts of the guides. The name of a step or of a point, and what it says, stand in a pair. */
export const words = {
  nav: 'Guides',

  how: {
    title: 'How it works',
    lead: 'An API names its price. A program signs a payment and gets its answer. No account, no card, no invoice.',
    call: 'One call, one payment',
    steps: (symbol: string, network: string) =>
      [
        [
          'A program calls an API',
          'The API answers with the status 402, Payment Required, and says what a call costs and whom to pay.',
        ],
        [
          'The program signs',
          `It signs permission for exactly that amount of ${symbol}. The signature moves no money yet, and it costs no gas.`,
        ],
        [
          'The program calls again, with the signature',
          'The API asks Arcus whether the payment is good. Then it does the work.',
        ],
        [
          'Arcus puts the payment on the chain',
          `The money goes straight from the buyer to the merchant on ${network}, mostly within two seconds. Arcus pays the gas.`,
        ],
      ] as const,
    risks: 'What can go wrong',
    riskPoints: [
      [
        'A request that fails is not charged.',
        'A payment is checked before the work and settled after it.',
      ],
      [
        'Nobody pays twice.',
        'Each signature is good for one transfer. The chain refuses it a second time.',
      ],
      [
        'Nobody pays more than they signed.',
        'A signature names the amount, the recipient, and the moment it expires.',
      ],
      [
        'Arcus never holds money.',
        'It can neither change a payment nor send it elsewhere. It is open source, and anybody can run it.',
      ],
    ],
    doubt:
      'If you are not sure about a payment, {lookUp}: by its transaction, or by the payer and the nonce of the signature.',
    lookUp: 'look it up',
    glossary: 'Words you will meet',
    terms: (symbol: string) =>
      [
        ['x402', 'The open standard for payments over HTTP that Arcus and these APIs follow.'],
        [
          'Facilitator',
          'The service that checks payments and puts them on the chain. Arcus is one.',
        ],
        [symbol, 'A stablecoin: one is worth one dollar. It also pays for gas on Arc.'],
        ['Gas', 'The fee of the chain for a transaction. Buyers and merchants do not pay it here.'],
        ['Arc', 'The chain on which the payments settle.'],
      ] as const,
    next: 'Go on',
    tryText: (isDevnet: boolean) =>
      isDevnet
        ? 'See it happen: choose an API in the {directory}, and press “Try it”. A play wallet pays, with money that is worth nothing.'
        : 'See it happen: choose an API in the {directory}, and press “Try it”. Your own wallet pays for one call.',
    directory: 'directory',
    nextText: '{browse}, or {sell}, or {agents}.',
    browse: 'Browse paid APIs',
    sell: 'sell your own',
    agents: 'let an agent buy',
  },

  merchants: {
    title: 'For merchants',
    lead: 'Put a price on a route of your API. The money arrives at your address with each call.',
    sell: 'Sell in five minutes',
    facilitator: 'Facilitator',
    network: 'Network',
    contract: (symbol: string) => `${symbol} contract`,
    shop: 'This is a whole shop. It needs no key and no account, only the address where you want to be paid, in {payTo}.',
    shopName: 'shop',
    check: 'Does my endpoint ask for payment correctly?',
    checkText:
      'Arcus calls your endpoint once, without payment, and shows what a buyer sees. This needs no wallet.',
    found: 'Be found',
    ways: [
      [
        'By itself',
        'An API that declares the discovery extension, as the shop above does, is listed after its first payment.',
      ],
      [
        'With a name',
        'Sign a listing with your wallet. It costs nothing, and it adds a name, texts, tags and badges.',
      ],
      [
        'With evidence',
        'The directory checks listed endpoints all day. It shows their uptime, their price history and how many payers they have.',
      ],
    ],
    list: 'List your API',
  },

  agents: {
    title: 'For agents',
    lead: 'Let a program find paid APIs, read what they cost now, and pay within a limit that you set.',
    find: 'Find',
    mcp: 'MCP server',
    resources: 'List of all endpoints',
    search: 'Search',
    changes: 'What changes',
    mcpText:
      'The MCP server finds and describes endpoints, and reads what they cost now. It never pays. For a client that reads a configuration file:',
    mcpName: 'MCP configuration',
    pay: 'Pay, with a limit',
    payText:
      'The official client pays with a key of its own. Give it little money, and always set a limit for each payment. Buying needs no gas.',
    buyerName: 'buyer',
    trust: 'Trust nothing that merchants write',
    trustText:
      'Titles and descriptions are written by strangers. Treat them as data. Let no text of a merchant decide how much is paid, or to whom.',
    evidence:
      'Arcus shows separately what it has seen itself: checks, prices over time, paid calls, and the number of different payers.',
    browse: 'Browse the directory',
  },

  operators: {
    title: 'For operators',
    lead: 'Run this facilitator yourself. It is one process with one database file.',
    start: 'Start it',
    needs:
      'You need Node 20.19 or newer, a checkout of Arcus, and one or more wallets that hold a few dollars of USDC for gas. Put their keys into {file}, one a line.',
    commandsName: 'commands',
    doctor:
      '{command} checks settings, nodes, wallets, database and clock, and says what to do about each problem.',
    cost: 'What it costs',
    costText:
      'You pay the gas of every payment, about a tenth of a cent. Arcus takes no fee. Limits for each day keep buyers and merchants from spending your gas for nothing.',
    duties: 'What you are responsible for',
    dutyPoints: [
      [
        'Relayer keys can spend your gas money, and nothing else.',
        'They cannot redirect a payment.',
      ],
      [
        'The database remembers every payment that was sent.',
        'Keep it on a disk that survives. A process that is killed finishes its work after the next start.',
      ],
    ],
    replicas:
      'Two or more processes share the work with PostgreSQL. The {status} shows how this one is doing.',
    status: 'status page',
  },

  money: {
    play: 'Play money',
    playText: (symbol: string) =>
      `This is a local chain, and its money is worth nothing. {command} prints the key of a wallet with 100 ${symbol}. “Try it” on the page of a merchant pays with it. So does this command, which calls the sample API:`,
    commandName: 'command',
    free: 'Money to try it with',
    onTestnet: 'This is the testnet. Its money is free: choose Arc Testnet at {faucet}.',
    onMainnet: 'Try it on the testnet first. Its money is free: choose Arc Testnet at {faucet}.',
  },

  check: {
    url: 'Address of your endpoint',
    placeholder: 'https://api.example.com/quote',
    submit: 'Check',
    pending: 'Arcus calls it now, without payment.',
    failed: 'It could not be checked',
    noUrl: 'Write the whole address, such as https://api.example.com/quote.',
    right: 'Your endpoint asks for payment correctly',
    works: 'Your endpoint works, and could be better',
    price: 'A call costs',
    payTo: 'Paid to',
    network: 'On',
    listed: 'In the directory:',
  },
} as const
