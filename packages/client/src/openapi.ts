/*
 * Requests and answers of every public route, written from the OpenAPI document of the service by `npm run client-types`.
 * A test holds this file to the document.
 */
export interface routes {
  "DELETE /api/merchants/{id}": operations["deleteMerchant"];
  "DELETE /api/merchants/{id}/hooks": operations["deleteHook"];
  "DELETE /api/session": operations["signOut"];
  "GET /.well-known/x402": operations["getFacilitator"];
  "GET /api/console": operations["getConsoleSettings"];
  "GET /api/endpoints": operations["browseEndpoints"];
  "GET /api/explore": operations["explore"];
  "GET /api/merchants": operations["listMerchants"];
  "GET /api/merchants/{id}": operations["getMerchant"];
  "GET /api/merchants/{id}/activity": operations["getActivity"];
  "GET /api/merchants/{id}/activity.csv": operations["exportActivity"];
  "GET /api/merchants/{id}/activity/breakdown": operations["getActivityBreakdown"];
  "GET /api/merchants/{id}/activity/stream": operations["followActivity"];
  "GET /api/merchants/{id}/activity/table": operations["listActivity"];
  "GET /api/merchants/{id}/changes.atom": operations["getMerchantFeed"];
  "GET /api/merchants/{id}/endpoints/{endpoint}/health": operations["getEndpointHealth"];
  "GET /api/merchants/{id}/endpoints/{endpoint}/prices": operations["getEndpointPrices"];
  "GET /api/merchants/{id}/endpoints/{endpoint}/ratings": operations["listRatings"];
  "GET /api/merchants/{id}/events": operations["listEvents"];
  "GET /api/merchants/{id}/history": operations["getMerchantHistory"];
  "GET /api/merchants/{id}/hooks": operations["listHooks"];
  "GET /api/merchants/{id}/llms.txt": operations["getMerchantLlmsText"];
  "GET /api/merchants/{id}/openapi.json": operations["getMerchantOpenApi"];
  "GET /api/merchants/{id}/stats": operations["getMerchantStats"];
  "GET /api/merchants/{id}/tools.json": operations["getMerchantTools"];
  "GET /api/owners/{address}/merchants": operations["listMerchantsOfOwner"];
  "GET /api/ratings/{id}": operations["getRating"];
  "GET /api/ratings/{id}/feedback": operations["getFeedbackCall"];
  "GET /api/ratings/{id}/feedback/{agent}": operations["getFeedbackFile"];
  "GET /api/session": operations["getSession"];
  "GET /api/session/nonce": operations["getSignInNonce"];
  "GET /api/settlements/stream": operations["followSettlements"];
  "GET /api/signing": operations["getSigningTerms"];
  "GET /api/stats": operations["getStats"];
  "GET /api/status": operations["getStatus"];
  "GET /api/status/history": operations["getStatusHistory"];
  "GET /badge/{merchant}.svg": operations["getBadge"];
  "GET /discovery/changes": operations["listChanges"];
  "GET /discovery/new.atom": operations["getNewEndpoints"];
  "GET /discovery/resources": operations["listResources"];
  "GET /discovery/search": operations["searchResources"];
  "GET /discovery/status": operations["getListingStatus"];
  "GET /docs": operations["getDocs"];
  "GET /health": operations["getHealth"];
  "GET /metrics": operations["getMetrics"];
  "GET /openapi.json": operations["getOpenApi"];
  "GET /payments/{network}/{payer}/{nonce}": operations["getPayment"];
  "GET /payments/{network}/{payer}/{nonce}/attestation": operations["getAttestation"];
  "GET /payments/{network}/{payer}/{nonce}/receipt": operations["getReceipt"];
  "GET /payments/{transaction}": operations["listPaymentsOfTransaction"];
  "GET /ready": operations["getReady"];
  "GET /supported": operations["getSupported"];
  "POST /api/merchants/{id}/owner-acceptance": operations["acceptMerchant"];
  "POST /api/merchants/{id}/owner-offer": operations["offerMerchant"];
  "POST /api/merchants/{id}/payto-confirmation": operations["confirmPayTo"];
  "POST /api/merchants/{id}/probe": operations["probeMerchant"];
  "POST /api/merchants/{id}/rating-answer": operations["answerRating"];
  "POST /api/ratings": operations["ratePayment"];
  "POST /api/session": operations["signIn"];
  "POST /api/try": operations["tryEndpoint"];
  "POST /discovery/validate": operations["validateEndpoint"];
  "POST /settle": operations["settlePayment"];
  "POST /verify": operations["verifyPayment"];
  "PUT /api/merchants/{id}": operations["saveMerchant"];
  "PUT /api/merchants/{id}/agent": operations["linkAgent"];
  "PUT /api/merchants/{id}/hooks": operations["setHook"];
}
export interface components {
  schemas: {
    /** @description An account, with EIP-55 checksum in answers. */
    Address: `0x${string}`;
    /** @description Atomic units of a stablecoin (6 decimals): 10000 is a cent, of a dollar or a euro. */
    Amount: string;
    Attestation: {
      format: "eip712";
      payload: {
        amount: components["schemas"]["Amount"];
        asset: components["schemas"]["Address"];
        facilitator: components["schemas"]["Address"];
        facilitatorFee: components["schemas"]["Amount"];
        network: components["schemas"]["Network"];
        /** @description Unix seconds. */
        observedAt: string;
        payee: components["schemas"]["Address"];
        payer: components["schemas"]["Address"];
        transaction: components["schemas"]["Hash"];
        version: 1;
      };
      /** @description EIP-712: domain `x402 receipt`, version `1`, chain 1. */
      signature: string;
    };
    /** @description A method of HTTP, or `MCP` for a tool of an MCP server. */
    CallMethod: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "MCP";
    DiscoveryItem: {
      /** @description A live 402 takes precedence over this. */
      accepts: components["schemas"]["QuotedRequirement"][];
      description?: string;
      extensions?: Record<string, unknown>;
      iconUrl?: string;
      lastUpdated: components["schemas"]["UnixSeconds"];
      metadata: {
        /** @description Token of the price. */
        asset: components["schemas"]["Address"];
        /** @description Currency of the token, ISO 4217; `null` if not known. */
        currency: string | null;
        description: string;
        hostedByArcus: boolean;
        /** @description How to call the endpoint: `queryParams` by name, a `body` of `bodyType`, or the `example` arguments of a tool. */
        input: {
          method?: string;
          toolName?: string;
          type: "http" | "mcp";
        } & Record<string, unknown>;
        /** @description JSON Schema of the parameters. */
        inputSchema: Record<string, unknown>;
        merchant: {
          id: string;
          /** @description The ERC-8004 agent of the merchant. */
          identity: {
            agentId: string;
          } | null;
          name: string;
          official: boolean;
          partner: boolean;
        };
        output: {
          type: string;
        } & Record<string, unknown>;
        /** @description As listed, in atomic units of the asset. */
        price: components["schemas"]["Amount"];
        /** @description Absent where the price is not in dollars. */
        priceUsd?: components["schemas"]["Usd"];
        pricing: "fixed" | "metered";
        provider: string;
        rating?: components["schemas"]["Rating"];
        /** @description Symbol of the token, such as `EURC`. */
        symbol: string;
        title: string;
        usage?: components["schemas"]["Usage"];
      };
      mimeType?: string;
      /** @description The URL to call, or that of the MCP server. */
      resource: string;
      serviceName?: string;
      /** @description Absent for a live endpoint. `failing` after repeated failed probes, `unverified` before the first good one. */
      status?: "unverified" | "failing";
      tags?: string[];
      /** @description With `mcp` the item is one tool: `metadata.input.toolName`. */
      type: "http" | "mcp";
      x402Version: 2;
    };
    EndpointCard: {
      /** @description Token of the price. */
      asset: components["schemas"]["Address"];
      /** @description Currency of the token, ISO 4217; `null` if not known. */
      currency: string | null;
      description: string;
      hasSchema: boolean;
      hosted: boolean;
      id: number;
      lastUpdated: components["schemas"]["UnixSeconds"];
      /** @description The price that its 402 asked for in the same token at the last probe, the highest of several; `null` if it is not known. */
      livePrice: components["schemas"]["Amount"] | null;
      /** @description The same in dollars; `null` for a price that is not in dollars. */
      livePriceUsd: components["schemas"]["Usd"] | null;
      merchant: {
        id: string;
        identity: {
          agentId: string;
          checks: {
            control: boolean;
            domain: boolean;
            file: boolean;
            pay: boolean;
          };
        } | null;
        name: string;
        official: boolean;
        partner: boolean;
        unclaimed: boolean;
      };
      method: components["schemas"]["CallMethod"];
      /** @description As listed, in atomic units of the asset. */
      price: components["schemas"]["Amount"];
      /** @description Absent where the price is not in dollars. */
      priceUsd?: components["schemas"]["Usd"];
      pricing: "fixed" | "metered";
      probe: {
        checkedAt: components["schemas"]["UnixSeconds"];
        verdict: string;
        /** @description What is odd though it is live: `price_drift`. */
        warnings: string[];
      } | null;
      status: "live" | "unverified" | "failing";
      /** @description Symbol of the token, such as `EURC`. */
      symbol: string;
      tags: string[];
      title: string;
      /** @description Of an MCP tool: its name at the server. */
      toolName?: string;
      /** @description By day (UTC) for 30 days, today last. */
      trend: {
        /** @description Paid calls; `null` where nobody paid. */
        calls: number[] | null;
        /** @description Share of live probes, 0 to 1; `null` on a day without a probe. */
        uptime: (number | null)[];
      };
      url: string;
      usage: components["schemas"]["Usage"] | null;
    };
    Event: {
      /** @description `since` for what comes after it. */
      cursor: number;
      /** @description By type; docs/webhooks.md describes each. */
      data: Record<string, unknown>;
      /** @description The same wherever the event is told: ignore one you know. */
      id: string;
      timestamp: components["schemas"]["Time"];
      /** @description Such as `payment.settled`. */
      type: string;
    };
    Facilitator: {
      /** @description The key that signs attestations now; `null` where none are signed. */
      attestation: {
        facilitator: components["schemas"]["Address"];
        format: "eip712";
      } | null;
      extensions: string[];
      /**
       * Format: uri
       * @description The address of verify and settle.
       */
      facilitator: string;
      kinds: {
        extra: {
          assets: components["schemas"]["TakenAsset"][];
          /** @description How `exact` moves the tokens. */
          assetTransferMethods?: ("eip3009" | "permit2")[];
          /** @description The address that a payer of `upto` names, and that alone can settle: the multicall of the relayers, or one of them. */
          facilitatorAddress?: components["schemas"]["Address"];
        };
        network: components["schemas"]["Network"];
        scheme: string;
        x402Version: 2;
      }[];
      networks: {
        assets: components["schemas"]["TakenAsset"][];
        chainId: number;
        explorerUrl: string | null;
        name: string;
        network: components["schemas"]["Network"];
        relayers: components["schemas"]["Address"][];
      }[];
      resources: {
        /** Format: uri */
        discovery: string;
        /** Format: uri */
        mcp: string;
        /** Format: uri */
        openapi: string;
        /** Format: uri */
        search: string;
        /** Format: uri */
        supported: string;
      };
      /** @description Relayer wallets by family of chains. */
      signers: Record<string, components["schemas"]["Address"][]>;
      x402Version: 2;
    };
    /** @description The feedback file of ERC-8004. */
    FeedbackFile: {
      /** @description A text where it is larger than a JSON number holds. */
      agentId: number | string;
      agentRegistry: string;
      clientAddress: string;
      /** Format: date-time */
      createdAt: string;
      endpoint: string;
      proofOfPayment: {
        chainId: string;
        fromAddress: components["schemas"]["Address"];
        toAddress: components["schemas"]["Address"];
        txHash: components["schemas"]["Hash"];
      };
      value: number;
      valueDecimals: 0;
    } & Record<string, unknown>;
    /** @description 32 bytes in lower-case hex. */
    Hash: `0x${string}`;
    /** @description A rating, backed by a payment that settled here. */
    KeptRating: {
      /** @description What was paid. */
      amount: components["schemas"]["Amount"];
      /** @description The one answer of the owner. */
      answer: {
        at: components["schemas"]["UnixSeconds"];
        text: string;
      } | null;
      asset: components["schemas"]["Address"];
      /** @description The id of the settlement that backs it. */
      id: string;
      /** @description A link of the payer, never opened by us; may be empty. */
      link: string;
      payer: components["schemas"]["Address"];
      ratedAt: components["schemas"]["UnixSeconds"];
      /** @description 0 to 100. */
      score: number;
      /** @description The word of the payer, unchecked; may be empty. */
      tag: string;
      transaction: components["schemas"]["Hash"];
    };
    /** @description Without `state` it is what a save takes. */
    ListedEndpoint: {
      /** @description Token of the price. */
      asset: components["schemas"]["Address"];
      /** @description Currency of the token, ISO 4217; `null` if not known. */
      currency: string | null;
      description: string;
      example: {
        /** @description Of an MCP tool. */
        arguments?: Record<string, unknown>;
        body?: unknown;
        /** @description `json` unless said. */
        bodyType?: "json" | "form-data" | "text";
        /** @description For buyers; Arcus never sends them. */
        headers?: Record<string, unknown>;
        queryParams?: Record<string, unknown>;
      };
      inputSchema: Record<string, unknown> | null;
      method: components["schemas"]["CallMethod"];
      output: {
        example?: unknown;
        type: string;
      } | null;
      price: components["schemas"]["Amount"];
      pricing: "fixed" | "metered";
      state: {
        /** @description The requirements of its 402 at the last probe. */
        accepts: Record<string, unknown>[];
        createdAt: components["schemas"]["UnixSeconds"];
        extras: Record<string, unknown>;
        /** @description Failed probes in a row. */
        failures: number;
        hosted: boolean;
        id: number;
        lastUpdated: components["schemas"]["UnixSeconds"];
        /** @description The price that its 402 asked for in the same token at the last probe, the highest of several; `null` if it is not known. */
        livePrice: components["schemas"]["Amount"] | null;
        /** @description The same in dollars; `null` for a price that is not in dollars. */
        livePriceUsd: components["schemas"]["Usd"] | null;
        nextProbeAt: components["schemas"]["UnixSeconds"] | null;
        /** @description Absent where the price is not in dollars. */
        priceUsd?: components["schemas"]["Usd"];
        probe: components["schemas"]["Probe"] | null;
        rating: components["schemas"]["Rating"] | null;
        status: "live" | "unverified" | "failing";
        /** @description Symbol of the token, such as `EURC`. */
        symbol: string;
        usage: components["schemas"]["Usage"] | null;
      };
      tags: string[];
      title: string;
      /** @description Of an MCP tool: its name at the server. */
      toolName?: string;
      transport?: "streamable-http" | "sse";
      url: string;
    };
    Listing: {
      description?: string;
      endpoints: {
        /** @description Token of the price; the default one if it is absent. */
        asset?: string | null;
        /**
         * @description Currency of the price, with the token or in its place.
         * @default null
         */
        currency?: string | null;
        description?: string;
        /** @description The probe calls the endpoint with it: `{ queryParams }` for GET, HEAD and DELETE; `{ body, bodyType?, queryParams? }` for POST, PUT and PATCH; `{ arguments }` for MCP. `headers` beside them are shown, never sent. */
        example?: unknown;
        /** @default null */
        inputSchema?: {
          type: "object";
        } | null;
        method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "MCP";
        /** @description `{ type: "json" }` unless given, of a tool `{ type: "text" }`. */
        output?: {
          example?: unknown;
          type: string;
        } | null;
        /** @description 6-decimal units; with `metered` a ceiling. */
        price: string;
        /** @default fixed */
        pricing?: "fixed" | "metered";
        tags?: string[];
        title: string;
        /** @description Only with `MCP`: the tool of the MCP server at `url`. */
        toolName?: string;
        /** @description Of the MCP server; `streamable-http` unless given. */
        transport?: "streamable-http" | "sse";
        /** Format: uri */
        url: string;
      }[];
      name: string;
      payTo: string;
    };
    /** @description The EIP-712 message of `GET /api/signing`, as it was signed. */
    ListingWrite: {
      action: string;
      audience: string;
      bodyHash: string;
      deadline: number | string;
      issuedAt: number | string;
      merchantId: string;
      nonce: string;
      owner: string;
      payTo: string;
      revision: number | string;
    };
    /** @description A listing as its owner sees it; nothing in it is secret. */
    Merchant: {
      agentId: string | null;
      /** @description Token of the first endpoint; each endpoint names its own. */
      asset: components["schemas"]["Address"];
      createdAt: components["schemas"]["UnixSeconds"];
      description: string;
      endpoints: components["schemas"]["ListedEndpoint"][];
      flags: {
        hidden: boolean;
        hiddenReason: string | null;
        official: boolean;
        partner: boolean;
        unclaimed: boolean;
      };
      id: string;
      identity: {
        agentId: string;
        checks: {
          control: {
            checkedAt: components["schemas"]["UnixSeconds"];
            detail: string;
            passed: boolean;
          };
          domain: {
            checkedAt: components["schemas"]["UnixSeconds"];
            detail: string;
            passed: boolean;
          };
          file: {
            checkedAt: components["schemas"]["UnixSeconds"];
            detail: string;
            passed: boolean;
          };
          pay: {
            checkedAt: components["schemas"]["UnixSeconds"];
            detail: string;
            passed: boolean;
          };
        };
        registry: string;
      } | null;
      name: string;
      network: components["schemas"]["Network"];
      offer: {
        to: components["schemas"]["Address"];
        until: components["schemas"]["UnixSeconds"];
      } | null;
      owner: components["schemas"]["Address"] | null;
      payTo: components["schemas"]["Address"];
      /** @description The proof that the address stands behind its owner. */
      payToProof: ("owner" | "confirmation" | "operator") | null;
      /** @description All ratings by payments to `payTo`, also of what is not listed any more. */
      rating: {
        /** @description Mean score, 0 to 100, with one decimal. */
        average: number;
        /** @description Ratings, one a payment. */
        count: number;
      } | null;
      /** @description The number of the last accepted write. */
      revision: number;
      updatedAt: components["schemas"]["UnixSeconds"];
      usage: components["schemas"]["Usage"] | null;
      warnings: {
        code: string;
        message: string;
        path: string;
      }[];
    };
    /** @description CAIP-2: eip155:5042 is Arc, eip155:5042002 its testnet. */
    Network: string;
    PaymentStatus: {
      amount: components["schemas"]["Amount"];
      asset: components["schemas"]["Address"];
      blockNumber: number | null;
      /** @description When it was found valid and accepted. */
      createdAt: components["schemas"]["Time"];
      /** @description Currency of the token, ISO 4217; `null` if not known. */
      currency: string | null;
      /** @description Whether a caller of settle received the success. */
      delivered: boolean;
      /** @description When the success was answered. */
      deliveredAt: components["schemas"]["Time"] | null;
      errorMessage: string | null;
      errorReason: string | null;
      explorerUrl: string | null;
      /** @description This payment's share of the gas. */
      gasUsd: components["schemas"]["Usd"] | null;
      network: components["schemas"]["Network"];
      nonce: components["schemas"]["Hash"];
      payer: components["schemas"]["Address"];
      payTo: components["schemas"]["Address"];
      /** @description When its transaction was sent; `null` without one, and for one of somebody else. */
      sentAt: components["schemas"]["Time"] | null;
      /** @description The id in the log lines of this service. */
      settlementId: string;
      /** @description `queued`: accepted and not sent to a node yet. `submitted`: sent. `confirmed`: on chain. `failed`: not settled and not on chain. */
      state: "queued" | "submitted" | "confirmed" | "failed";
      /** @description Of the asset; `null` for one that is no longer taken. */
      symbol: string | null;
      transaction: components["schemas"]["Hash"] | null;
      /** @description When its state changed last: of a confirmed one, its confirmation. */
      updatedAt: components["schemas"]["Time"];
      validAfter: string;
      validBefore: string;
    };
    /** @description The result of one probe of an endpoint. */
    Probe: {
      checkedAt: components["schemas"]["UnixSeconds"];
      /** @description For the owner. */
      message: string;
      /** @description Time until the answer. */
      ms?: number;
      seen: Record<string, string | number | null>;
      /** @description `live`, or what was wrong. */
      verdict: string;
      /** @description Oddities of an endpoint that is live all the same. */
      warnings: string[];
    };
    /** @description What the 402 of the endpoint said at the last probe. */
    QuotedRequirement: {
      amount: components["schemas"]["Amount"];
      asset: components["schemas"]["Address"];
      extra?: Record<string, unknown>;
      maxTimeoutSeconds?: number;
      network: components["schemas"]["Network"];
      payTo: components["schemas"]["Address"];
      scheme: string;
    } & Record<string, unknown>;
    /** @description Ratings by those who paid, each backed by a payment that settled here. They change no order. Absent or `null` where there is none, and where the payout address does not stand behind the owner. */
    Rating: {
      /** @description Mean score, 0 to 100, with one decimal. */
      average: number;
      /** @description Ratings, one a payment. */
      count: number;
      /** @description Different payers who rated. */
      payers: number;
      /** @description Share of the ratings that one payer made, 0 to 1. */
      topPayerShare: number;
    };
    /** @description The EIP-712 message `rating` of `GET /api/signing`, as the payer signed it. */
    RatingMessage: {
      asset: string;
      audience: string;
      deadline: number | string;
      issuedAt: number | string;
      link: string;
      network: string;
      nonce: string;
      payer: string;
      resource: string;
      score: number | string;
      tag: string;
      toolName: "" | string;
    };
    /** @description Every part without which no payment can be settled. */
    Readiness: {
      checks: {
        /** @description One sentence without addresses of nodes or paths. */
        detail: string;
        name: string;
        ok: boolean;
        /** @description Payments settle, and the operator should look at it. */
        warning?: true;
      }[];
      status: "ready" | "not_ready";
    };
    Receipt: {
      acceptedAt: components["schemas"]["Time"];
      amount: components["schemas"]["Amount"];
      asset: components["schemas"]["Address"];
      attestation: components["schemas"]["Attestation"] | null;
      blockNumber: number | null;
      confirmedAt: components["schemas"]["Time"];
      explorerUrl: string | null;
      /** @description The listing that speaks for `payTo`; `null` if there is none. */
      merchant: string | null;
      /** @description The id of that listing. */
      merchantId: string | null;
      network: components["schemas"]["Network"];
      nonce: components["schemas"]["Hash"];
      payer: components["schemas"]["Address"];
      payTo: components["schemas"]["Address"];
      /** @description The amount in whole units of the token. */
      price: string;
      /** @description As the payer stated it, unsigned; `null` if it is not kept. */
      resource: string | null;
      /** @description Of the token. */
      symbol: string;
      transaction: components["schemas"]["Hash"];
    };
    /** @description The wallet that is signed in, and until when. */
    Session: {
      address: components["schemas"]["Address"];
      expiresAt: components["schemas"]["UnixSeconds"];
    };
    SettleAnswer: {
      /** @description What moved on chain, for `upto` and `batch-settlement`. */
      amount?: components["schemas"]["Amount"];
      /** @description `facilitator-attestation`: the signed statement, where settlements are attested. */
      extensions?: Record<string, unknown>;
      /** @description State of the payment channel, for `batch-settlement`. */
      extra?: Record<string, unknown>;
      network: components["schemas"]["Network"];
      payer?: components["schemas"]["Address"];
      success: true;
      transaction: components["schemas"]["Hash"] | "";
    } | {
      /** @description One sentence with the expected and the actual value. */
      errorMessage: string;
      errorReason: "unsupported_scheme" | "invalid_exact_evm_scheme" | "unsupported_payload_type" | "invalid_network" | "invalid_exact_evm_network_mismatch" | "unsupported_asset" | "invalid_exact_evm_missing_eip712_domain" | "invalid_exact_evm_token_name_mismatch" | "invalid_exact_evm_token_version_mismatch" | "invalid_exact_evm_recipient_mismatch" | "invalid_exact_evm_payload_authorization_valid_before" | "invalid_exact_evm_payload_authorization_valid_after" | "invalid_exact_evm_payload_authorization_value_mismatch" | "amount_below_minimum" | "invalid_pay_to" | "payer_not_allowed" | "pay_to_not_allowed" | "eip6492_factory_not_allowed" | "invalid_exact_evm_signature" | "invalid_exact_evm_nonce_already_used" | "payer_blocklisted" | "pay_to_blocklisted" | "asset_paused" | "invalid_exact_evm_insufficient_balance" | "invalid_exact_evm_transaction_simulation_failed" | "invalid_permit2_spender" | "invalid_permit2_recipient_mismatch" | "permit2_deadline_expired" | "permit2_not_yet_valid" | "permit2_amount_mismatch" | "permit2_token_mismatch" | "invalid_permit2_signature" | "permit2_invalid_nonce" | "permit2_insufficient_balance" | "permit2_allowance_required" | "permit2_simulation_failed" | "invalid_upto_evm_scheme" | "invalid_upto_evm_network_mismatch" | "upto_facilitator_mismatch" | "invalid_upto_evm_payload_settlement_exceeds_amount" | "invalid_upto_evm_transaction_failed" | "invalid_eip2612_extension_format" | "eip2612_from_mismatch" | "eip2612_asset_mismatch" | "eip2612_spender_not_permit2" | "eip2612_deadline_expired" | "permit2_2612_amount_mismatch" | "gas_budget_exceeded" | "gas_price_too_high" | "idempotency_key_conflict" | "invalid_exact_evm_transaction_failed" | "invalid_exact_evm_transfer_event_mismatch" | "settlement_pending" | "invalid_batch_settlement_evm_scheme" | "invalid_batch_settlement_evm_network_mismatch" | "invalid_batch_settlement_evm_payload_type" | "invalid_batch_settlement_evm_channel_id_mismatch" | "invalid_batch_settlement_evm_receiver_mismatch" | "invalid_batch_settlement_evm_receiver_authorizer_mismatch" | "invalid_batch_settlement_evm_token_mismatch" | "invalid_batch_settlement_evm_withdraw_delay_mismatch" | "invalid_batch_settlement_evm_withdraw_delay_out_of_range" | "invalid_batch_settlement_evm_voucher_signature" | "invalid_batch_settlement_evm_channel_not_found" | "invalid_batch_settlement_evm_cumulative_exceeds_balance" | "invalid_batch_settlement_evm_cumulative_below_claimed" | "invalid_batch_settlement_evm_insufficient_balance" | "invalid_batch_settlement_evm_missing_eip712_domain" | "invalid_batch_settlement_evm_payload_authorization_valid_before" | "invalid_batch_settlement_evm_payload_authorization_valid_after" | "invalid_batch_settlement_evm_receive_authorization_signature" | "invalid_batch_settlement_evm_eip6492_factory_not_allowed" | "invalid_batch_settlement_evm_deposit_simulation_failed" | "invalid_batch_settlement_evm_deposit_transaction_failed" | "invalid_batch_settlement_evm_claim_simulation_failed" | "invalid_batch_settlement_evm_claim_transaction_failed" | "nothing_to_claim" | "repeated_channel" | "invalid_batch_settlement_evm_settle_simulation_failed" | "invalid_batch_settlement_evm_settle_transaction_failed" | "invalid_batch_settlement_evm_nothing_to_settle" | "invalid_batch_settlement_evm_refund_simulation_failed" | "invalid_batch_settlement_evm_refund_transaction_failed" | "invalid_batch_settlement_evm_refund_no_balance" | "invalid_batch_settlement_evm_authorizer_not_configured";
      network: string;
      payer?: components["schemas"]["Address"];
      success: false;
      /** @description Empty until there is a transaction; every later answer names it. */
      transaction: components["schemas"]["Hash"] | "";
    };
    /** @description A payment that settled here, as the chain shows it. */
    Settlement: {
      amount: components["schemas"]["Amount"];
      /** @description `null` where only dollars were settled then. */
      asset: components["schemas"]["Address"] | null;
      at: components["schemas"]["Time"];
      /** @description Currency of the token, ISO 4217; `null` if not known. */
      currency: string | null;
      /** @description Rises with time. */
      id: number;
      /** @description The listing that is proven to be paid at the address; `null` if there is none. */
      merchant: {
        id: string;
        name: string;
      } | null;
      network: components["schemas"]["Network"];
      symbol: string | null;
      transaction: components["schemas"]["Hash"];
    };
    /** @description Settles since a full hour. */
    Settling: {
      /** @description Payments that were found valid and did not settle. Failures that a payer causes count once a day. */
      failed: number;
      p50Ms: number | null;
      p95Ms: number | null;
      refunds: number;
      /** @description Payments. Refunds are counted apart. */
      settled: number;
      since: components["schemas"]["Time"];
      successRate: number | null;
      /** @description Payments found valid. */
      verifies: number;
      verifyP50Ms: number | null;
      verifyP95Ms: number | null;
    };
    /** @description A rating with everything that proves it. */
    SignedRating: {
      /** @description What was paid. */
      amount: components["schemas"]["Amount"];
      /** @description The one answer of the owner. */
      answer: {
        at: components["schemas"]["UnixSeconds"];
        text: string;
      } | null;
      asset: components["schemas"]["Address"];
      /** @description The id of the settlement that backs it. */
      id: string;
      /** @description A link of the payer, never opened by us; may be empty. */
      link: string;
      /** @description The message as the payer signed it; `GET /api/signing` has its types. */
      message: Record<string, unknown>;
      network: components["schemas"]["Network"];
      payer: components["schemas"]["Address"];
      payTo: components["schemas"]["Address"];
      ratedAt: components["schemas"]["UnixSeconds"];
      resource: string;
      /** @description 0 to 100. */
      score: number;
      signature: string;
      /** @description The word of the payer, unchecked; may be empty. */
      tag: string;
      /** @description Of an MCP tool: its name at the server. */
      toolName?: string;
      transaction: components["schemas"]["Hash"];
    };
    /** @description A token in which payments are settled. */
    TakenAsset: {
      address: components["schemas"]["Address"];
      /** @description Currency of the token, ISO 4217; `null` if not known. */
      currency: string | null;
      decimals: number;
      /** @description The least payment, in atomic units. */
      minAmount: components["schemas"]["Amount"];
      /** @description Quoted in `extra.name`: the name of the EIP-712 domain. */
      name: string;
      symbol: string;
      /** @description Quoted in `extra.version`. */
      version: string;
    };
    /**
     * Format: date-time
     * @description ISO 8601, UTC.
     */
    Time: string;
    /** @description Net of refunds. Payments of an owner to themselves and payments that were never found valid are left out. */
    Totals: {
      payers: {
        repeat: number;
        /** @description Share of the payer who paid most, 0 to 1. */
        topShare: number | null;
        /** @description Payers who did not get everything back. */
        unique: number;
      };
      /** @description Refunds by the address that is paid to its payers, at most what they paid. All other figures are net of them. */
      refunds: {
        amount: components["schemas"]["Amount"];
        count: number;
        usd: string;
      };
      /** @description Net of refunds. */
      revenue: {
        amount: components["schemas"]["Amount"];
        usd: string;
      };
      /** @description Paid calls without those that were refunded in full. */
      settled: number;
      settleP50Ms: number | null;
      settleP95Ms: number | null;
      /** @description Settled payments as a share of settled and failed ones, 0 to 1. A payment counts as failed only if its signature and funds were found valid before. Failures that a payer causes count once a day. */
      successRate: number | null;
    };
    TryAnswer: {
      /** @description Base64. Of a tool the JSON-RPC message. */
      body: string;
      /** @description Lower-case: the type of the body, the terms and the outcome of a payment. */
      headers: Record<string, string>;
      outcome: "answered";
      status: number;
    } | {
      /** @description One sentence. */
      message: string;
      outcome: "unanswered";
      /** @description Whether the server may have received the call. */
      wasSent: boolean;
    };
    /** @description Unix time in seconds. */
    UnixSeconds: number;
    /** @description Payments for the endpoint, or for the merchant as a whole, that settled here, net of refunds and without payments of the owner or the recipient to themselves. Absent or `null` where none is known, and where the payout address does not stand behind the owner. */
    Usage: {
      /** @description Paid calls that were not refunded in full. */
      calls: {
        "7d": number;
        "24h": number;
        "30d": number;
      };
      firstPaid: components["schemas"]["UnixSeconds"];
      lastPaid: components["schemas"]["UnixSeconds"];
      /** @description Different payers of these calls. */
      payers: {
        "7d": number;
        "24h": number;
        "30d": number;
      };
      settleP50Ms: number | null;
      settleP95Ms: number | null;
      /** @description Share of the calls in 30 days that the busiest payer made, 0 to 1. */
      topPayerShare: number | null;
    };
    /** @description Dollars as an exact decimal. */
    Usd: string;
    ValidateRequest: {
      body?: unknown;
      method: "GET" | "HEAD" | "DELETE";
      /** @description Sent as the query. */
      queryParams?: Record<string, string | number | boolean>;
      /** @description What to call. */
      url: string;
    } | {
      /** @description Sent as JSON unless bodyType says otherwise; {} if absent. */
      body?: unknown;
      bodyType?: "json" | "form-data" | "text";
      method: "POST" | "PUT" | "PATCH";
      /** @description Sent as the query beside the body. */
      queryParams?: Record<string, string | number | boolean>;
      /** @description What to call. */
      url: string;
    } | {
      /** @description Arguments of the call; {} if absent. */
      arguments?: unknown;
      method: "MCP";
      /** @description Without it the tools of the server are listed. */
      toolName?: string;
      /** @description What to call. */
      url: string;
    };
    VerifyAnswer: {
      /** @description State of the payment channel, for `batch-settlement`. */
      extra?: Record<string, unknown>;
      isValid: true;
      payer: components["schemas"]["Address"];
    } | {
      /** @description State of the payment channel, for `batch-settlement`. */
      extra?: Record<string, unknown>;
      /** @description One sentence with the expected and the actual value. */
      invalidMessage: string;
      invalidReason: "unsupported_scheme" | "invalid_exact_evm_scheme" | "unsupported_payload_type" | "invalid_network" | "invalid_exact_evm_network_mismatch" | "unsupported_asset" | "invalid_exact_evm_missing_eip712_domain" | "invalid_exact_evm_token_name_mismatch" | "invalid_exact_evm_token_version_mismatch" | "invalid_exact_evm_recipient_mismatch" | "invalid_exact_evm_payload_authorization_valid_before" | "invalid_exact_evm_payload_authorization_valid_after" | "invalid_exact_evm_payload_authorization_value_mismatch" | "amount_below_minimum" | "invalid_pay_to" | "payer_not_allowed" | "pay_to_not_allowed" | "eip6492_factory_not_allowed" | "invalid_exact_evm_signature" | "invalid_exact_evm_nonce_already_used" | "payer_blocklisted" | "pay_to_blocklisted" | "asset_paused" | "invalid_exact_evm_insufficient_balance" | "invalid_exact_evm_transaction_simulation_failed" | "invalid_permit2_spender" | "invalid_permit2_recipient_mismatch" | "permit2_deadline_expired" | "permit2_not_yet_valid" | "permit2_amount_mismatch" | "permit2_token_mismatch" | "invalid_permit2_signature" | "permit2_invalid_nonce" | "permit2_insufficient_balance" | "permit2_allowance_required" | "permit2_simulation_failed" | "invalid_upto_evm_scheme" | "invalid_upto_evm_network_mismatch" | "upto_facilitator_mismatch" | "invalid_upto_evm_payload_settlement_exceeds_amount" | "invalid_upto_evm_transaction_failed" | "invalid_eip2612_extension_format" | "eip2612_from_mismatch" | "eip2612_asset_mismatch" | "eip2612_spender_not_permit2" | "eip2612_deadline_expired" | "permit2_2612_amount_mismatch" | "gas_budget_exceeded" | "gas_price_too_high" | "invalid_batch_settlement_evm_scheme" | "invalid_batch_settlement_evm_network_mismatch" | "invalid_batch_settlement_evm_payload_type" | "invalid_batch_settlement_evm_channel_id_mismatch" | "invalid_batch_settlement_evm_receiver_mismatch" | "invalid_batch_settlement_evm_receiver_authorizer_mismatch" | "invalid_batch_settlement_evm_token_mismatch" | "invalid_batch_settlement_evm_withdraw_delay_mismatch" | "invalid_batch_settlement_evm_withdraw_delay_out_of_range" | "invalid_batch_settlement_evm_voucher_signature" | "invalid_batch_settlement_evm_channel_not_found" | "invalid_batch_settlement_evm_cumulative_exceeds_balance" | "invalid_batch_settlement_evm_cumulative_below_claimed" | "invalid_batch_settlement_evm_insufficient_balance" | "invalid_batch_settlement_evm_missing_eip712_domain" | "invalid_batch_settlement_evm_payload_authorization_valid_before" | "invalid_batch_settlement_evm_payload_authorization_valid_after" | "invalid_batch_settlement_evm_receive_authorization_signature" | "invalid_batch_settlement_evm_eip6492_factory_not_allowed" | "invalid_batch_settlement_evm_deposit_simulation_failed" | "invalid_batch_settlement_evm_deposit_transaction_failed" | "invalid_batch_settlement_evm_claim_simulation_failed" | "invalid_batch_settlement_evm_claim_transaction_failed" | "nothing_to_claim" | "repeated_channel" | "invalid_batch_settlement_evm_settle_simulation_failed" | "invalid_batch_settlement_evm_settle_transaction_failed" | "invalid_batch_settlement_evm_nothing_to_settle" | "invalid_batch_settlement_evm_refund_simulation_failed" | "invalid_batch_settlement_evm_refund_transaction_failed" | "invalid_batch_settlement_evm_refund_no_balance" | "invalid_batch_settlement_evm_authorizer_not_configured";
      isValid: false;
      payer?: components["schemas"]["Address"];
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export interface operations {
  getFacilitator: {
    parameters: {
    };
    responses: {
      /** @description The facilitator. */
      200: {
        content: {
          "application/json": components["schemas"]["Facilitator"];
        };
      };
    };
  };
  getConsoleSettings: {
    parameters: {
    };
    responses: {
      /** @description Nothing in it is secret. */
      200: {
        content: {
          "application/json": {
            activityRetentionDays: number;
            baseUrl: string;
            buybackAddress: components["schemas"]["Address"] | null;
            devnet: boolean;
            directoryUrl: string;
            identityRegistry: components["schemas"]["Address"];
            minAmount: components["schemas"]["Amount"];
            networks: {
              /** @description The default one: the first of `assets`. */
              asset: components["schemas"]["TakenAsset"];
              assets: components["schemas"]["TakenAsset"][];
              chainId: number;
              explorerUrl: string | null;
              /** @description Whether listings are about it. True for exactly one network. */
              listed: boolean;
              name: string;
              /** @description The gas coin, as `wallet_addEthereumChain` takes it (EIP-3085). */
              nativeCurrency: {
                decimals: number;
                name: string;
                symbol: string;
              };
              network: components["schemas"]["Network"];
              walletRpcUrls: string[];
            }[];
            /** @description Whether the page of a merchant calls and pays its endpoints. */
            tryIt: boolean;
            version: string;
          };
        };
      };
    };
  };
  browseEndpoints: {
    parameters: {
      query?: {
        /** @description Address of a token that is taken. */
        asset?: string;
        /** @description Currency of the price (ISO 4217), such as `EUR`. */
        currency?: string;
        /** @description `next` of the page before. */
        cursor?: string;
        /** @description Extension that the endpoint offers, such as `bazaar`. */
        extensions?: string;
        /** @description Whether the parameters have a schema. */
        hasSchema?: boolean;
        /** @description How many items a page has at most. */
        limit?: number;
        /** @description Highest price that the 402 may ask for on the listed network, in atomic units of `currency`, else of `asset`, else of dollars. Prices in other money are not found, because no rate is known. */
        maxPrice?: number;
        /** @description Endpoints of this merchant only, those that are not live too. */
        merchant?: string;
        /** @description Method of the endpoint; `MCP` for a tool of an MCP server. */
        method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "MCP";
        /** @description Network of the payment, such as `eip155:5042`. */
        network?: string;
        /** @description Whether the operator of this service runs the endpoint. */
        official?: boolean;
        /** @description Address that is paid. Endpoints that are not live are listed too. */
        payTo?: string;
        /** @description Pricing of the endpoint. */
        pricing?: "fixed" | "metered";
        /** @description Words to look for. With words the best come first, unless `sort` says otherwise; without, the order is that of creation. */
        query?: string;
        /** @description Scheme that is accepted, such as `exact`. */
        scheme?: string;
        /** @description Most calls first, most payers, lowest price (dollars before other money), newest, or paid last; calls are those of 30 days without the busiest payer. Without it, the order is that of creation. */
        sort?: "calls" | "payers" | "price" | "new" | "lastPaid";
        /** @description A tag of the endpoint. */
        tag?: string;
        /** @description `http` or `mcp`, both unless said; any other value finds nothing. */
        type?: string;
        /** @description Whether the last probe saw the 402 as it is listed. */
        verified?: boolean;
      };
    };
    responses: {
      /** @description A page. */
      200: {
        content: {
          "application/json": {
            /** @description The corrected words, if nothing has the words as typed and something has these. */
            correctedQuery?: string;
            items: components["schemas"]["EndpointCard"][];
            /** @description `cursor` for the next page; `null` after the last. */
            next: string | null;
            /** @description Number of items of all pages together; `null` when words rank them. */
            total: number | null;
          };
        };
      };
    };
  };
  explore: {
    parameters: {
    };
    responses: {
      /** @description For everybody. */
      200: {
        content: {
          "application/json": {
            /** @description The tags that most merchants use for what is listed now. */
            categories: {
              merchants: number;
              tag: string;
            }[];
            /** @description Thirty days with today, oldest first. */
            days: {
              /** @description Start of the day (UTC). */
              at: components["schemas"]["UnixSeconds"];
              /** @description Paid calls without those that were refunded in full. */
              settled: number;
              /** @description Net of refunds. */
              usd: components["schemas"]["Usd"];
            }[];
            /** @description Those with the most payers, of the merchants whose address stands behind them. */
            merchants: {
              /** @description Paid calls in 30 days. */
              calls: number;
              id: string;
              name: string;
              /** @description Different payers in 30 days. */
              payers: number;
            }[];
            /** @description The latest, newest first. */
            settlements: components["schemas"]["Settlement"][];
          };
        };
      };
    };
  };
  listMerchants: {
    parameters: {
      query?: {
        /** @description Only so many merchants; all of them without `sort` and `limit`. */
        limit?: number;
        /** @description By the payments of 30 days (`calls` without those of the busiest payer), the lowest price (dollars before other money), the last payment, or age; the best 100 unless `limit` says how many. */
        sort?: "calls" | "payers" | "price" | "new" | "lastPaid";
      };
    };
    responses: {
      /** @description All of it, as a stream. */
      200: {
        content: {
          "application/json": {
            facilitator: string;
            merchants: {
              /** @description Token of the first endpoint; each endpoint names its own. */
              asset: components["schemas"]["Address"];
              claimed: boolean;
              description: string;
              endpoints: {
                /** @description Token of the price. */
                asset: components["schemas"]["Address"];
                /** @description Currency of the token, ISO 4217; `null` if not known. */
                currency: string | null;
                description: string;
                hostedByArcus: boolean;
                /** @description The price that its 402 asked for in the same token at the last probe, the highest of several; `null` if it is not known. */
                livePrice: components["schemas"]["Amount"] | null;
                livePriceUsd: number | null;
                method: components["schemas"]["CallMethod"];
                params: string[];
                /** @description As listed, in atomic units of the asset. */
                price: components["schemas"]["Amount"];
                /** @description Absent where the price is not in dollars. */
                priceUsd?: number;
                pricing: "fixed" | "metered";
                status: "live" | "unverified" | "failing";
                /** @description Symbol of the token, such as `EURC`. */
                symbol: string;
                tags: string[];
                title: string;
                /** @description Of an MCP tool: its name at the server. */
                toolName?: string;
                url: string;
              }[];
              id: string;
              identity: {
                agentId: string;
              } | null;
              name: string;
              network: components["schemas"]["Network"];
              official: boolean;
              partner: boolean;
              payTo: components["schemas"]["Address"];
              usage: components["schemas"]["Usage"] | null;
            }[];
          };
        };
      };
    };
  };
  getMerchant: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description The listing. */
      200: {
        content: {
          "application/json": components["schemas"]["Merchant"];
        };
      };
    };
  };
  saveMerchant: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: components["schemas"]["Listing"];
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description Replaced. */
      200: {
        content: {
          "application/json": components["schemas"]["Merchant"];
        };
      };
      /** @description Created. */
      201: {
        content: {
          "application/json": components["schemas"]["Merchant"];
        };
      };
    };
  };
  deleteMerchant: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: Record<string, never>;
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description The listing as it is now. */
      200: {
        content: {
          "application/json": components["schemas"]["Merchant"];
        };
      };
    };
  };
  getActivity: {
    parameters: {
      query?: {
        /** @description One endpoint only, by the id in its `state`. */
        endpoint?: number;
        /** @description First day of `custom`, UTC. */
        from?: string;
        /** @description How far back, from now; `custom` with `from` and `to`. */
        range?: "24h" | "7d" | "30d" | "all" | "custom";
        /** @description Last day of `custom`, UTC. */
        to?: string;
      };
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description The sums. */
      200: {
        content: {
          "application/json": {
            merchant: string;
            /** @description As many hours before the range as have begun of it; `null` for all time. */
            previous: {
              failed: number;
              /** @description Payers who did not get everything back. */
              payers: number;
              /** @description Net of refunds. */
              revenue: {
                amount: components["schemas"]["Amount"];
                usd: string;
              };
              /** @description Without those that were refunded in full. */
              settled: number;
              since: components["schemas"]["UnixSeconds"];
              /** @description Settled payments as a share of settled and failed ones, 0 to 1. A payment counts as failed only if its signature and funds were found valid before. Failures that a payer causes count once a day. */
              successRate: number | null;
              until: components["schemas"]["UnixSeconds"];
            } | null;
            range: "24h" | "7d" | "30d" | "all" | "custom";
            series: {
              amount: components["schemas"]["Amount"];
              /** @description Start of the hour or day. */
              at: components["schemas"]["UnixSeconds"];
              failed: number;
              settled: number;
              usd: string;
              verifies: number;
            }[];
            since: components["schemas"]["UnixSeconds"];
            stepSeconds: number;
            summary: {
              /** @description Failed verifies and settles by reason. */
              failures: {
                count: number;
                kind: string;
                reason: string;
              }[];
              gasUsd: string;
              payers: {
                repeat: number;
                /** @description Share of the payer who paid most, 0 to 1. */
                topShare: number | null;
                /** @description Payers who did not get everything back. */
                unique: number;
              };
              /** @description Refunds by the address that is paid to its payers, at most what they paid. All other figures are net of them. */
              refunds: {
                amount: components["schemas"]["Amount"];
                count: number;
                usd: string;
              };
              /** @description Refused settles by reason. */
              refusals: {
                count: number;
                kind: string;
                reason: string;
              }[];
              /** @description Net of refunds. */
              revenue: {
                amount: components["schemas"]["Amount"];
                usd: string;
              };
              /** @description Payments of an owner to themselves. No other figure contains them. */
              selfPayments: {
                amount: components["schemas"]["Amount"];
                count: number;
                failed: number;
                gasUsd: string;
                usd: string;
                verifies: number;
              };
              settle: {
                count: number;
                failed: number;
                p50Ms: number | null;
                p95Ms: number | null;
                /** @description Neither paid nor failed: never found valid, used before, or beyond a rate limit. */
                refused: number;
                /** @description Without those that were refunded in full. */
                settled: number;
                /** @description Settled payments as a share of settled and failed ones, 0 to 1. A payment counts as failed only if its signature and funds were found valid before. Failures that a payer causes count once a day. */
                successRate: number | null;
              };
              verify: {
                count: number;
                p50Ms: number | null;
                p95Ms: number | null;
                valid: number;
              };
            };
            /** @description End of the last hour or day. */
            until: components["schemas"]["UnixSeconds"];
          };
        };
      };
    };
  };
  exportActivity: {
    parameters: {
      query?: {
        /** @description One endpoint only, by the id in its `state`. */
        endpoint?: number;
        /** @description First day of `custom`, UTC. */
        from?: string;
        kind?: "verify" | "settle";
        /** @description How far back, from now; `custom` with `from` and `to`. */
        range?: "24h" | "7d" | "30d" | "all" | "custom";
        state?: "valid" | "invalid" | "settled" | "failed" | "refused" | "pending" | "refunded";
        /** @description Last day of `custom`, UTC. */
        to?: string;
      };
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description RFC 4180. */
      200: {
        content: {
          "text/csv": string;
        };
      };
    };
  };
  getActivityBreakdown: {
    parameters: {
      query?: {
        /** @description One endpoint only, by the id in its `state`. */
        endpoint?: number;
        /** @description First day of `custom`, UTC. */
        from?: string;
        /** @description How far back, from now; `custom` with `from` and `to`. */
        range?: "24h" | "7d" | "30d" | "all" | "custom";
        /** @description Last day of `custom`, UTC. */
        to?: string;
      };
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description The figures. */
      200: {
        content: {
          "application/json": {
            /** @description At most 200, those with most revenue first; deleted ones too. */
            endpoints: {
              /** @description `null` for payments of no listed endpoint. */
              endpointId: number | null;
              failed: number;
              /** @description Payers who did not get everything back. */
              payers: number;
              /** @description Net of refunds. */
              revenue: {
                amount: components["schemas"]["Amount"];
                usd: string;
              };
              /** @description Without those that were refunded in full. */
              settled: number;
              /** @description Settled payments as a share of settled and failed ones, 0 to 1. A payment counts as failed only if its signature and funds were found valid before. Failures that a payer causes count once a day. */
              successRate: number | null;
            }[];
            merchant: string;
            range: "24h" | "7d" | "30d" | "all" | "custom";
            since: components["schemas"]["UnixSeconds"];
            /** @description The ten who paid most, net of refunds. */
            topPayers: {
              amount: components["schemas"]["Amount"];
              /** @description Payments that were not refunded in full. */
              count: number;
              payer: components["schemas"]["Address"];
              /** @description Of the revenue, 0 to 1. */
              share: number | null;
              usd: string;
            }[];
            until: components["schemas"]["UnixSeconds"];
          };
        };
      };
    };
  };
  followActivity: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description A stream that ends with the session. */
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  listActivity: {
    parameters: {
      query?: {
        /** @description `next` of the page before. */
        before?: number;
        /** @description One endpoint only, by the id in its `state`. */
        endpoint?: number;
        /** @description First day of `custom`, UTC. */
        from?: string;
        kind?: "verify" | "settle";
        /** @description Rows of a page. */
        limit?: number;
        /** @description How far back, from now; `custom` with `from` and `to`. */
        range?: "24h" | "7d" | "30d" | "all" | "custom";
        state?: "valid" | "invalid" | "settled" | "failed" | "refused" | "pending" | "refunded";
        /** @description Last day of `custom`, UTC. */
        to?: string;
      };
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description A page. */
      200: {
        content: {
          "application/json": {
            items: {
              amount: components["schemas"]["Amount"];
              /** @description `null` in rows from before several tokens were settled. */
              asset: components["schemas"]["Address"] | null;
              at: components["schemas"]["Time"];
              /** @description Currency of the token, ISO 4217; `null` if not known. */
              currency: string | null;
              endpointId: number | null;
              gasUsd: string | null;
              id: number;
              isSelf: boolean;
              kind: "verify" | "settle";
              latencyMs: number;
              payer: components["schemas"]["Address"];
              payTo: components["schemas"]["Address"];
              reason: string | null;
              resource: string | null;
              state: "valid" | "invalid" | "settled" | "failed" | "refused" | "pending" | "refunded";
              symbol: string | null;
              /** @description The tool of an MCP server that the payment names. */
              toolName: string | null;
              transaction: components["schemas"]["Hash"] | null;
              /** @description `null` for a payment in another money than dollars. */
              usd: string | null;
            }[];
            /** @description `before` for the next page. */
            next: number | null;
          };
        };
      };
    };
  };
  linkAgent: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: {
            agentId: string | null;
          };
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description The listing as it is now. */
      200: {
        content: {
          "application/json": components["schemas"]["Merchant"];
        };
      };
    };
  };
  getMerchantFeed: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description Saves of the listing, endpoints that fail or recover, prices that drift. */
      200: {
        content: {
          "application/atom+xml": string;
        };
      };
    };
  };
  getEndpointHealth: {
    parameters: {
      query?: {
        /** @description Days of the history. */
        days?: number;
      };
      path: {
        /** @description The id of the endpoint in its `state`. */
        endpoint: string;
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description By hour, oldest first. */
      200: {
        content: {
          "application/json": {
            endpoint: number;
            history: {
              /** @description Start of the hour. Hours without a probe are left out. */
              at: components["schemas"]["UnixSeconds"];
              live: number;
              /** @description Mean of the live probes; `null` without one. */
              ms: number | null;
              probes: number;
              /** @description Number of probes by result. */
              verdicts: Record<string, number>;
            }[];
            /** @description Of live probes within 90 days, by the mean of each hour. */
            latency: {
              p50Ms: number | null;
              p95Ms: number | null;
            };
            merchant: string;
            status: "live" | "unverified" | "failing";
            uptime: {
              "7d": {
                probes: number;
                /** @description Share of live probes, 0 to 1, each hour with a probe counted alike. */
                share: number | null;
              };
              "24h": {
                probes: number;
                /** @description Share of live probes, 0 to 1, each hour with a probe counted alike. */
                share: number | null;
              };
              "30d": {
                probes: number;
                /** @description Share of live probes, 0 to 1, each hour with a probe counted alike. */
                share: number | null;
              };
              "90d": {
                probes: number;
                /** @description Share of live probes, 0 to 1, each hour with a probe counted alike. */
                share: number | null;
              };
            };
          };
        };
      };
    };
  };
  getEndpointPrices: {
    parameters: {
      path: {
        /** @description The id of the endpoint in its `state`. */
        endpoint: string;
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description Oldest first. */
      200: {
        content: {
          "application/json": {
            endpoint: number;
            merchant: string;
            /** @description The last 100 changes of each source. */
            prices: {
              amount: components["schemas"]["Amount"];
              at: components["schemas"]["UnixSeconds"];
              /** @description Currency of the token, ISO 4217; `null` if not known. */
              currency: string | null;
              /** @description The change; `null` for the first price. */
              sentence: string | null;
              /** @description `listed` in a signed revision, `asked` by a live 402. */
              source: "listed" | "asked";
              symbol: string;
            }[];
          };
        };
      };
    };
  };
  listRatings: {
    parameters: {
      query?: {
        /** @description `next` of the page before. */
        before?: number;
        /** @description Ratings of a page. */
        limit?: number;
      };
      path: {
        /** @description The id of the endpoint in its `state`. */
        endpoint: string;
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description A page. */
      200: {
        content: {
          "application/json": {
            endpoint: number;
            merchant: string;
            /** @description `before` for the next page. */
            next: number | null;
            rating: components["schemas"]["Rating"] | null;
            /** @description Newest first. */
            ratings: components["schemas"]["KeptRating"][];
          };
        };
      };
    };
  };
  listEvents: {
    parameters: {
      query?: {
        /** @description Events of a page. */
        limit?: number;
        /** @description `next` of the page before; 0 is the oldest event that is kept. */
        since?: number;
      };
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description A page. */
      200: {
        content: {
          "application/json": {
            /** @description Oldest first. */
            events: components["schemas"]["Event"][];
            hasMore: boolean;
            merchant: string;
            /** @description `since` for the next page, now or later. */
            next: number;
            /** @description `owner`: all events, for a session of the owner. `public`: without payments. */
            scope: "owner" | "public";
          };
        };
      };
    };
  };
  getMerchantHistory: {
    parameters: {
      query?: {
        /** @description `next` of the page before; 0 is the beginning. */
        after?: number;
        /** @description Entries of a page; large ones make it shorter. */
        limit?: number;
      };
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description A page, oldest first. */
      200: {
        content: {
          "application/json": {
            /** @description The EIP-712 domain of the signatures; `GET /api/signing` has the types. */
            domain: {
              chainId: number;
              name: "Arcus";
              version: "1";
            };
            entries: {
              acceptedAt: components["schemas"]["UnixSeconds"];
              action: "listing.create" | "listing.update" | "listing.delete" | "owner.offer" | "owner.accept" | "agent.link" | "payto.confirm" | "hook.set" | "hook.delete" | "rating.answer";
              body: unknown;
              message: Record<string, unknown>;
              owner: components["schemas"]["Address"];
              revision: number;
              signature: string;
            }[];
            merchantId: string;
            /** @description `after` for the next page. */
            next: number | null;
          };
        };
      };
    };
  };
  listHooks: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description All of them, without their secrets. */
      200: {
        content: {
          "application/json": {
            hooks: {
              createdAt: components["schemas"]["Time"];
              /** @description The last event that was delivered or passed over. */
              cursor: number;
              /** @description The last delivery that was taken. */
              deliveredAt: components["schemas"]["Time"] | null;
              /** @description Failed deliveries in a row. */
              failures: number;
              id: string;
              /** @description Events were dropped before they were delivered. */
              isLossy: boolean;
              /** @description Why the last delivery failed. */
              lastError: string | null;
              /** @description When a failed delivery is tried again. */
              nextAt: components["schemas"]["Time"] | null;
              /** @description `parked` after three days of failures, or when the receiver answered 410. */
              state: "active" | "retrying" | "parked";
              types: string[];
              url: string;
            }[];
          };
        };
      };
    };
  };
  setHook: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: {
            id: string | null;
            since: number | null;
            types: ("payment.settled" | "payment.failed" | "endpoint.failing" | "endpoint.recovered" | "price.drift")[];
            url: string;
          };
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description With the secret of a new one, which is shown this once. */
      200: {
        content: {
          "application/json": {
            id: string;
            /** @description `whsec_` and base64, for a new webhook. It is not shown again. */
            secret: string | null;
          };
        };
      };
    };
  };
  deleteHook: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: {
            id: string;
          };
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description Nothing is delivered any more. */
      200: {
        content: {
          "application/json": {
            id: string;
          };
        };
      };
    };
  };
  getMerchantLlmsText: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description Markdown: what there is, what it costs, where to read on. */
      200: {
        content: {
          "text/markdown": string;
        };
      };
    };
  };
  getMerchantOpenApi: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description OpenAPI 3.1. */
      200: {
        content: {
          "application/json": {
            info: Record<string, unknown>;
            openapi: string;
            paths: Record<string, unknown>;
          } & Record<string, unknown>;
        };
      };
    };
  };
  acceptMerchant: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: Record<string, never>;
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description The listing as it is now. */
      200: {
        content: {
          "application/json": components["schemas"]["Merchant"];
        };
      };
    };
  };
  offerMerchant: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: {
            to: string | null;
          };
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description The listing as it is now. */
      200: {
        content: {
          "application/json": components["schemas"]["Merchant"];
        };
      };
    };
  };
  confirmPayTo: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: {
            owner: string | null;
          };
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description The listing as it is now. */
      200: {
        content: {
          "application/json": components["schemas"]["Merchant"];
        };
      };
    };
  };
  probeMerchant: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": {
          /** @description The id in its `state`; without it the endpoints with the oldest probe. */
          endpointId?: number;
        };
      };
    };
    responses: {
      /** @description The results. */
      200: {
        content: {
          "application/json": {
            endpoints: {
              /** @description Failed probes in a row. */
              failures: number;
              id: number;
              method: components["schemas"]["CallMethod"];
              nextProbeAt: components["schemas"]["UnixSeconds"] | null;
              probe: components["schemas"]["Probe"] | null;
              /** @description `probed`, or why it was not probed now. */
              state: string;
              status: "live" | "unverified" | "failing";
              /** @description Of an MCP tool: its name at the server. */
              toolName?: string;
              url: string;
            }[];
          };
        };
      };
    };
  };
  answerRating: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          body: {
            rating: string;
            text: string;
          };
          chainId?: number | string;
          message: components["schemas"]["ListingWrite"];
          signature: string;
        };
      };
    };
    responses: {
      /** @description The rating with the answer. */
      200: {
        content: {
          "application/json": components["schemas"]["SignedRating"];
        };
      };
    };
  };
  getMerchantStats: {
    parameters: {
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description By range. */
      200: {
        content: {
          "application/json": {
            "7d": components["schemas"]["Totals"];
            "24h": components["schemas"]["Totals"];
            "30d": components["schemas"]["Totals"];
            all: components["schemas"]["Totals"];
            merchant?: string;
            /** @description Why nothing is counted and what to do about it; null where payments count. */
            note?: string | null;
            /** @description The proof that the address stands behind its owner. */
            payToProof?: ("owner" | "confirmation" | "operator") | null;
          };
        };
      };
    };
  };
  getMerchantTools: {
    parameters: {
      query?: {
        /** @description `function` unless said; `mcp` is the answer to `tools/list`. */
        format?: "function" | "mcp";
      };
      path: {
        /** @description Merchant id. */
        id: string;
      };
    };
    responses: {
      /** @description The tools, and by name what a call of each is made of. */
      200: {
        content: {
          "application/json": {
            calls: {
              [key: string]: {
                /** @description Where the arguments go; `arguments` are those of a `tools/call` by MCP. */
                arguments: "query" | "body" | "body.body" | "arguments";
                /** @description Token of the price. */
                asset: components["schemas"]["Address"];
                /** @description Currency of the token, ISO 4217; `null` if not known. */
                currency: string | null;
                /** @description The price that its 402 asked for in the same token at the last probe, the highest of several; `null` if it is not known. */
                livePrice: components["schemas"]["Amount"] | null;
                livePriceUsd: number | null;
                method: components["schemas"]["CallMethod"];
                network: components["schemas"]["Network"];
                payTo: components["schemas"]["Address"];
                /** @description As listed, in atomic units of the asset. */
                price: components["schemas"]["Amount"];
                /** @description Absent where the price is not in dollars. */
                priceUsd?: number;
                pricing: "fixed" | "metered";
                status: "live" | "unverified" | "failing";
                /** @description Symbol of the token, such as `EURC`. */
                symbol: string;
                /** @description Of an MCP tool: its name at the server. */
                toolName?: string;
                url: string;
              };
            };
            tools: Record<string, unknown>[];
          };
        };
      };
    };
  };
  listMerchantsOfOwner: {
    parameters: {
      path: {
        address: components["schemas"]["Address"];
      };
    };
    responses: {
      /** @description Listings by role. */
      200: {
        content: {
          "application/json": {
            merchants: {
              /** @description Number of endpoints in each state. */
              endpoints: {
                failing: number;
                live: number;
                unverified: number;
              };
              hidden: boolean;
              id: string;
              name: string;
              offer: {
                to: components["schemas"]["Address"];
                until: components["schemas"]["UnixSeconds"];
              } | null;
              payTo: components["schemas"]["Address"];
              revision: number;
              /** @description `payTo` may claim what was found in payments to it. */
              role: "owner" | "offered" | "payTo";
              updatedAt: components["schemas"]["UnixSeconds"];
            }[];
            owner: components["schemas"]["Address"];
          };
        };
      };
    };
  };
  ratePayment: {
    parameters: {
    };
    requestBody: {
      content: {
        "application/json": {
          message: components["schemas"]["RatingMessage"];
          /** @description Tells two payments of one nonce in one token apart. */
          method?: "eip3009" | "permit2";
          signature: string;
        };
      };
    };
    responses: {
      /** @description Kept. */
      201: {
        content: {
          "application/json": components["schemas"]["SignedRating"];
        };
      };
    };
  };
  getRating: {
    parameters: {
      path: {
        /** @description Id of the settlement. */
        id: string;
      };
    };
    responses: {
      /** @description The rating. */
      200: {
        content: {
          "application/json": components["schemas"]["SignedRating"];
        };
      };
    };
  };
  getFeedbackCall: {
    parameters: {
      path: {
        /** @description Id of the settlement. */
        id: string;
      };
    };
    responses: {
      /** @description The transaction to send. */
      200: {
        content: {
          "application/json": {
            agentId: string;
            /** @description The call of `giveFeedback`. */
            data: string;
            /** @description keccak256 of these bytes. */
            feedbackHash: components["schemas"]["Hash"];
            /** @description The feedback file, whose bytes never change. */
            feedbackUri: string;
            network: components["schemas"]["Network"];
            note: string;
            /** @description The payer, who should send it: the registry keeps the sender as the client. */
            sender: components["schemas"]["Address"];
            /** @description The reputation registry. */
            to: components["schemas"]["Address"];
            value: "0";
          };
        };
      };
    };
  };
  getFeedbackFile: {
    parameters: {
      path: {
        /** @description Id of the agent. */
        agent: string;
        /** @description Id of the settlement. */
        id: string;
      };
    };
    responses: {
      /** @description Always the same bytes. */
      200: {
        content: {
          "application/json": components["schemas"]["FeedbackFile"];
        };
      };
    };
  };
  getSession: {
    parameters: {
    };
    responses: {
      /** @description The session. */
      200: {
        content: {
          "application/json": components["schemas"]["Session"];
        };
      };
    };
  };
  signIn: {
    parameters: {
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description ERC-4361, with the nonce of `GET /api/session/nonce`. */
          message: string;
          /** @description The signature of the message by EIP-191, or of a contract wallet by ERC-1271. */
          signature: string;
        };
      };
    };
    responses: {
      /** @description Signed in. */
      200: {
        content: {
          "application/json": components["schemas"]["Session"];
        };
      };
    };
  };
  signOut: {
    parameters: {
    };
    responses: {
      /** @description The session is ended. */
      204: {
      };
    };
  };
  getSignInNonce: {
    parameters: {
    };
    responses: {
      /** @description For one ERC-4361 message. */
      200: {
        content: {
          "application/json": {
            chainId: number;
            domain: string;
            expiresAt: components["schemas"]["UnixSeconds"];
            nonce: string;
            statement: string;
            uri: string;
            version: "1";
          };
        };
      };
    };
  };
  followSettlements: {
    parameters: {
    };
    responses: {
      /** @description The data of `settlements` is a list as in `GET /api/explore`, oldest first. */
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  getSigningTerms: {
    parameters: {
    };
    responses: {
      /** @description Domain, types, audience, clock, routes and limits. */
      200: {
        content: {
          "application/json": {
            actions: {
              [key: string]: {
                body: string;
                method: string;
                path: string;
                signer: string;
              };
            };
            /** @description The token of a price that names none: the first of `assets`. */
            asset: components["schemas"]["Address"];
            assets: {
              address: components["schemas"]["Address"];
              /** @description Currency of the token, ISO 4217; `null` if not known. */
              currency: string | null;
              symbol: string;
            }[];
            audience: string;
            bodyHash: string;
            domain: {
              chainId: number;
              name: "Arcus";
              version: "1";
            };
            /** @description Every limit of what owners write. */
            limits: Record<string, unknown>;
            network: components["schemas"]["Network"];
            primaryType: "ListingWrite";
            /** @description How a payer rates what a payment bought, in the same domain and time. */
            rating: {
              limits: Record<string, unknown>;
              method: string;
              path: string;
              primaryType: "Rating";
              request: string;
              signer: string;
              types: {
                [key: string]: {
                  name: string;
                  type: string;
                }[];
              };
            };
            request: string;
            revision: string;
            time: {
              maxDeadlineSeconds: number;
              now: components["schemas"]["UnixSeconds"];
              skewSeconds: number;
            };
            types: {
              [key: string]: {
                name: string;
                type: string;
              }[];
            };
          };
        };
      };
    };
  };
  getStats: {
    parameters: {
    };
    responses: {
      /** @description By range. */
      200: {
        content: {
          "application/json": {
            "7d": components["schemas"]["Totals"];
            "24h": components["schemas"]["Totals"];
            "30d": components["schemas"]["Totals"];
            all: components["schemas"]["Totals"];
            merchant?: string;
            /** @description Why nothing is counted and what to do about it; null where payments count. */
            note?: string | null;
            /** @description The proof that the address stands behind its owner. */
            payToProof?: ("owner" | "confirmation" | "operator") | null;
          };
        };
      };
    };
  };
  getStatus: {
    parameters: {
    };
    responses: {
      /** @description Facts that are unknown at the moment are `null`. */
      200: {
        content: {
          "application/json": {
            checks: {
              /** @description One sentence without addresses of nodes or paths. */
              detail: string;
              name: string;
              ok: boolean;
              /** @description Payments settle, and the operator should look at it. */
              warning?: true;
            }[];
            networks: {
              block: {
                ageSeconds: number;
                at: components["schemas"]["Time"];
                number: number;
              } | null;
              chainId: number;
              lanes: {
                address: components["schemas"]["Address"];
                balanceUsd: components["schemas"]["Usd"] | null;
                inFlight: number;
                oldestPendingSeconds: number;
                reason: string | null;
                state: "open" | "closed" | "unfunded";
              }[];
              name: string;
              network: components["schemas"]["Network"];
              queueLength: number;
              /** @description Days until gas money runs out; `null` if unknown. */
              runwayDays: number | null;
            }[];
            now: components["schemas"]["Time"];
            settling: {
              day: components["schemas"]["Settling"];
              hour: components["schemas"]["Settling"];
            };
            startedAt: components["schemas"]["Time"];
            status: "ready" | "not_ready";
            version: string;
          };
        };
      };
    };
  };
  getStatusHistory: {
    parameters: {
    };
    responses: {
      /** @description Oldest day first. */
      200: {
        content: {
          "application/json": {
            /** @description Minutes by state and settle times, for 90 days, oldest first. */
            days: {
              /** @description Start of the day (UTC). */
              at: components["schemas"]["UnixSeconds"];
              /** @description Payments settled, and something needed attention. */
              degraded: number;
              down: number;
              p50Ms: number | null;
              p95Ms: number | null;
              ready: number;
              /** @description Nothing was noted: the service was stopped, for example. */
              unknown: number;
            }[];
            /** @description The last 100, newest first. */
            incidents: {
              /** @description `null` while it lasts. */
              endedAt: components["schemas"]["UnixSeconds"] | null;
              kind: "degraded" | "down" | "silent";
              reason: string;
              startedAt: components["schemas"]["UnixSeconds"];
            }[];
            /** @description The first minute that was noted within 90 days; `null` before it. */
            recordedSince: components["schemas"]["UnixSeconds"] | null;
            /** @description Share of the minutes since then in which payments could settle, 0 to 1. Minutes in which nothing was noted count as if they could not. */
            uptime: number | null;
          };
        };
      };
    };
  };
  tryEndpoint: {
    parameters: {
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description The id in the `state` of the endpoint. */
          endpointId: number;
          /** @description What stands in the place of the example of the listing. */
          input: {
            /** @description Of a tool. */
            arguments?: Record<string, unknown>;
            /** @description Sent in the `bodyType` of the listing. */
            body?: unknown;
            /** @description Of those that the listing names, `Accept`, `Accept-Language` and `X-…`. */
            headers?: Record<string, string>;
            /** @description For the places of the path, such as `:id`. */
            pathParams?: Record<string, string>;
            queryParams?: Record<string, unknown>;
          };
          /** @description Merchant id. */
          merchantId: string;
          /** @description Base64, as the header `PAYMENT-SIGNATURE` has it. */
          payment?: string;
        };
      };
    };
    responses: {
      /** @description What the endpoint answered, or why it did not. */
      200: {
        content: {
          "application/json": components["schemas"]["TryAnswer"];
        };
      };
    };
  };
  getBadge: {
    parameters: {
      path: {
        /** @description Merchant id. */
        merchant: string;
      };
    };
    responses: {
      /** @description SVG, one line of text. */
      200: {
        content: {
          "image/svg+xml": string;
        };
      };
    };
  };
  listChanges: {
    parameters: {
      query?: {
        /** @description How many merchants a page has at most. */
        limit?: number;
        /** @description `next` of the answer before; 0 is the whole catalog. */
        since?: number;
        /** @description Seconds to wait for a change, if there is none yet. */
        wait?: number;
      };
    };
    responses: {
      /** @description A page. */
      200: {
        content: {
          "application/json": {
            changes: {
              /** @description All items of the merchant now, those that are not live too. */
              items: components["schemas"]["DiscoveryItem"][];
              merchant: string;
              /** @description Whether the merchant is deleted or hidden. Forget what you hold of it. */
              removed: boolean;
              /** @description Number of the last change of the merchant in this page. */
              sequence: number;
            }[];
            /** @description Whether there are more pages now. */
            hasMore: boolean;
            /** @description `since` for the next page, and for the next time you ask. */
            next: number;
            x402Version: 2;
          };
        };
      };
    };
  };
  getNewEndpoints: {
    parameters: {
    };
    responses: {
      /** @description The newest 50, as far as discovery shows them. */
      200: {
        content: {
          "application/atom+xml": string;
        };
      };
    };
  };
  listResources: {
    parameters: {
      query?: {
        /** @description Address of a token that is taken. */
        asset?: string;
        /** @description Currency of the price (ISO 4217), such as `EUR`. */
        currency?: string;
        /** @description Extension that the endpoint offers, such as `bazaar`. */
        extensions?: string;
        /** @description How many items a page has at most. */
        limit?: number;
        /** @description Endpoints of this merchant only, those that are not live too. */
        merchant?: string;
        /** @description Network of the payment, such as `eip155:5042`. */
        network?: string;
        /** @description How many items to skip. */
        offset?: number;
        /** @description Address that is paid. Endpoints that are not live are listed too. */
        payTo?: string;
        /** @description Every word must occur in the name or description of the merchant or the endpoint. */
        q?: string;
        /** @description Scheme that is accepted, such as `exact`. */
        scheme?: string;
        /** @description Most calls first, most payers, lowest price (dollars before other money), newest, or paid last; calls are those of 30 days without the busiest payer. Without it, the order is that of creation. */
        sort?: "calls" | "payers" | "price" | "new" | "lastPaid";
        /** @description `http` or `mcp`, both unless said; any other value finds nothing. */
        type?: string;
      };
    };
    responses: {
      /** @description A page. */
      200: {
        content: {
          "application/json": {
            items: components["schemas"]["DiscoveryItem"][];
            pagination: {
              limit: number;
              offset: number;
              /** @description Number of items of all pages together. */
              total: number;
            };
            /** @description Filters of the query that this route knows and does not apply. */
            unappliedFilters?: string[];
            x402Version: 2;
          };
        };
      };
    };
  };
  searchResources: {
    parameters: {
      query: {
        /** @description Address of a token that is taken. */
        asset?: string;
        /** @description Currency of the price (ISO 4217), such as `EUR`. */
        currency?: string;
        /** @description `cursor` of the page before. */
        cursor?: string;
        /** @description Extension that the endpoint offers, such as `bazaar`. */
        extensions?: string;
        /** @description Whether the parameters have a schema. */
        hasSchema?: boolean;
        /** @description How many items a page has at most. */
        limit?: number;
        /** @description Highest price that the 402 may ask for on the listed network, in atomic units of `currency`, else of `asset`, else of dollars. Prices in other money are not found, because no rate is known. */
        maxPrice?: number;
        /** @description Endpoints of this merchant only, those that are not live too. */
        merchant?: string;
        /** @description Method of the endpoint; `MCP` for a tool of an MCP server. */
        method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "MCP";
        /** @description Network of the payment, such as `eip155:5042`. */
        network?: string;
        /** @description Whether the operator of this service runs the endpoint. */
        official?: boolean;
        /** @description Address that is paid. Endpoints that are not live are listed too. */
        payTo?: string;
        /** @description Pricing of the endpoint. */
        pricing?: "fixed" | "metered";
        /** @description Words to look for. */
        query: string;
        /** @description Scheme that is accepted, such as `exact`. */
        scheme?: string;
        /** @description A tag of the endpoint. */
        tag?: string;
        /** @description `http` or `mcp`, both unless said; any other value finds nothing. */
        type?: string;
        /** @description Whether the last probe saw the 402 as it is listed. */
        verified?: boolean;
      };
    };
    responses: {
      /** @description A page. */
      200: {
        content: {
          "application/json": {
            /** @description The corrected words, if nothing has the words as typed and something has these. */
            correctedQuery?: string;
            pagination: {
              cursor: string | null;
              limit: number;
            };
            /** @description Whether there are more pages. */
            partialResults: boolean;
            resources: components["schemas"]["DiscoveryItem"][];
            /** @description Filters of the query that this route knows and does not apply. */
            unappliedFilters?: string[];
            x402Version: 2;
          };
        };
      };
    };
  };
  getListingStatus: {
    parameters: {
      query: {
        /** @description Only with this method. */
        method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "MCP";
        /** @description URL of the resource, or of the MCP server. */
        resource: string;
        /** @description Only the tool of this name. */
        toolName?: string;
      };
    };
    responses: {
      /** @description What is known. */
      200: {
        content: {
          "application/json": {
            entries: {
              /** @description Failed probes in a row. */
              failures: number;
              /** @description Whether it is in the default list of discovery. */
              isListed: boolean;
              /** @description What gets it into the list; `null` if it is live. */
              mend: string | null;
              /** @description Id of the merchant. */
              merchant: string;
              method: components["schemas"]["CallMethod"];
              nextProbeAt: components["schemas"]["UnixSeconds"] | null;
              probe: {
                checkedAt: components["schemas"]["UnixSeconds"];
                message: string;
                verdict: string;
              } | null;
              reason: string;
              status: "live" | "unverified" | "failing" | "hidden";
              /** @description Of an MCP tool: its name at the server. */
              toolName?: string;
              type: "http" | "mcp";
              url: string;
            }[];
            /** @description All of it in one sentence. */
            message: string;
            /** @description Payments for it whose bazaar extension was refused lately, latest first. */
            refusals: {
              at: components["schemas"]["UnixSeconds"];
              payTo: components["schemas"]["Address"];
              reason: string;
            }[];
            resource: string;
          };
        };
      };
    };
  };
  validateEndpoint: {
    parameters: {
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ValidateRequest"];
      };
    };
    responses: {
      /** @description The verdict. */
      200: {
        content: {
          "application/json": {
            checkedAt: components["schemas"]["UnixSeconds"];
            /** @description A listing drafted from the live 402. Its texts are those of the endpoint. */
            listing: {
              asset: string;
              /** @description Currency of the token, ISO 4217; `null` if not known. */
              currency: string | null;
              description?: string;
              example?: {
                /** @description Of an MCP tool. */
                arguments?: Record<string, unknown>;
                body?: unknown;
                /** @description `json` unless said. */
                bodyType?: "json" | "form-data" | "text";
                /** @description For buyers; Arcus never sends them. */
                headers?: Record<string, unknown>;
                queryParams?: Record<string, unknown>;
              };
              inputSchema?: Record<string, unknown>;
              method: components["schemas"]["CallMethod"];
              network: string;
              payTo: string;
              price: string;
              pricing: "fixed" | "metered";
              symbol: string;
              tags?: string[];
              title?: string;
              /** @description Of an MCP tool: its name at the server. */
              toolName?: string;
              transport?: "streamable-http" | "sse";
              url: string;
            } | null;
            message: string;
            seen: Record<string, string | number | null>;
            /** @description The tools of an MCP server, if none was named. */
            tools?: {
              description?: string;
              inputSchema?: Record<string, unknown>;
              name: string;
            }[];
            /** @description `live`, or what is wrong. */
            verdict: string;
            warnings: string[];
          };
        };
      };
    };
  };
  getDocs: {
    parameters: {
    };
    responses: {
      /** @description A page without scripts. */
      200: {
        content: {
          "text/html": string;
        };
      };
    };
  };
  getHealth: {
    parameters: {
    };
    responses: {
      /** @description The process is alive. */
      200: {
        content: {
          "application/json": {
            status: "ok";
          };
        };
      };
    };
  };
  getMetrics: {
    parameters: {
    };
    responses: {
      /** @description Text exposition format. */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  getOpenApi: {
    parameters: {
    };
    responses: {
      /** @description OpenAPI 3.1. */
      200: {
        content: {
          "application/json": {
            openapi: "3.1.0";
          } & Record<string, unknown>;
        };
      };
    };
  };
  getPayment: {
    parameters: {
      query?: {
        /** @description The token, where a payer used one nonce in several. */
        asset?: string;
        /** @description `permit2` for payments by Permit2, where a payer used one nonce by both methods. */
        method?: "eip3009" | "permit2";
      };
      path: {
        /** @description CAIP-2; eip155:5042 is Arc. */
        network: string;
        /** @description `authorization.nonce`, or `permit2Authorization.nonce` in decimal or hex. */
        nonce: string;
        /** @description `authorization.from`. */
        payer: string;
      };
    };
    responses: {
      /** @description The payment. */
      200: {
        content: {
          "application/json": components["schemas"]["PaymentStatus"];
        };
      };
    };
  };
  getAttestation: {
    parameters: {
      query?: {
        /** @description The token, where a payer used one nonce in several. */
        asset?: string;
        /** @description `permit2` for payments by Permit2, where a payer used one nonce by both methods. */
        method?: "eip3009" | "permit2";
      };
      path: {
        /** @description CAIP-2; eip155:5042 is Arc. */
        network: string;
        /** @description `authorization.nonce`, or `permit2Authorization.nonce` in decimal or hex. */
        nonce: string;
        /** @description `authorization.from`. */
        payer: string;
      };
    };
    responses: {
      /** @description The attestation. */
      200: {
        content: {
          "application/json": components["schemas"]["Attestation"];
        };
      };
    };
  };
  getReceipt: {
    parameters: {
      query?: {
        /** @description The token, where a payer used one nonce in several. */
        asset?: string;
        /** @description `permit2` for payments by Permit2, where a payer used one nonce by both methods. */
        method?: "eip3009" | "permit2";
      };
      path: {
        /** @description CAIP-2; eip155:5042 is Arc. */
        network: string;
        /** @description `authorization.nonce`, or `permit2Authorization.nonce` in decimal or hex. */
        nonce: string;
        /** @description `authorization.from`. */
        payer: string;
      };
    };
    responses: {
      /** @description The receipt. */
      200: {
        content: {
          "application/json": components["schemas"]["Receipt"];
        };
      };
    };
  };
  listPaymentsOfTransaction: {
    parameters: {
      path: {
        /** @description As a settle was answered with. */
        transaction: string;
      };
    };
    responses: {
      /** @description The payments in their order; one that landed elsewhere after all says where. */
      200: {
        content: {
          "application/json": {
            payments: components["schemas"]["PaymentStatus"][];
            transaction: components["schemas"]["Hash"];
          };
        };
      };
    };
  };
  getReady: {
    parameters: {
    };
    responses: {
      /** @description Payments can be settled. */
      200: {
        content: {
          "application/json": components["schemas"]["Readiness"];
        };
      };
    };
  };
  settlePayment: {
    parameters: {
      header?: {
        /** @description A fresh one for each payment; the same key and payment get the success again. */
        "Idempotency-Key"?: string;
      };
    };
    requestBody: {
      content: {
        "application/json": {
          paymentPayload: {
            accepted: {
              network: string;
              scheme: string;
            };
            extensions?: unknown;
            payload: {
              authorization: {
                from: string;
                nonce: string;
                to: string;
                validAfter: string;
                validBefore: string;
                value: string;
              };
              signature: string;
            };
            resource?: unknown;
            x402Version: 2;
          };
          paymentRequirements: {
            /** @description 6-decimal units. */
            amount: string;
            /** @description The stablecoin. */
            asset: string;
            /** @description The token's EIP-712 `name` and `version`. */
            extra?: Record<string, unknown> | null;
            /** @description The longest a settle waits, if it is below the limit of this service. */
            maxTimeoutSeconds: number;
            /** @description CAIP-2. */
            network: string;
            /** @description The recipient; in mixed case its EIP-55 checksum must be right. */
            payTo: string;
            scheme: "exact";
          };
          x402Version: 2;
        } | {
          paymentPayload: {
            accepted: {
              network: string;
              scheme: string;
            };
            extensions?: unknown;
            payload: {
              permit2Authorization: {
                /** @description The last second in which it can settle. */
                deadline: string;
                from: string;
                nonce: string;
                permitted: {
                  amount: string;
                  token: string;
                };
                /** @description x402's proxy for the scheme. */
                spender: string;
                witness: {
                  to: string;
                  validAfter: string;
                };
              };
              signature: string;
            };
            resource?: unknown;
            x402Version: 2;
          };
          paymentRequirements: {
            /** @description 6-decimal units. */
            amount: string;
            /** @description The stablecoin. */
            asset: string;
            /** @description The token's EIP-712 `name` and `version`. */
            extra?: Record<string, unknown> | null;
            /** @description The longest a settle waits, if it is below the limit of this service. */
            maxTimeoutSeconds: number;
            /** @description CAIP-2. */
            network: string;
            /** @description The recipient; in mixed case its EIP-55 checksum must be right. */
            payTo: string;
            scheme: "exact";
          };
          x402Version: 2;
        } | {
          paymentPayload: {
            accepted: {
              network: string;
              scheme: string;
            };
            extensions?: unknown;
            payload: {
              permit2Authorization: {
                /** @description The last second in which it can settle. */
                deadline: string;
                from: string;
                nonce: string;
                permitted: {
                  amount: string;
                  token: string;
                };
                /** @description x402's proxy for the scheme. */
                spender: string;
                witness: {
                  facilitator: string;
                  to: string;
                  validAfter: string;
                };
              };
              signature: string;
            };
            resource?: unknown;
            x402Version: 2;
          };
          paymentRequirements: {
            /** @description 6-decimal units. */
            amount: string;
            /** @description The stablecoin. */
            asset: string;
            /** @description The token's EIP-712 `name` and `version`. */
            extra?: Record<string, unknown> | null;
            /** @description The longest a settle waits, if it is below the limit of this service. */
            maxTimeoutSeconds: number;
            /** @description CAIP-2. */
            network: string;
            /** @description The recipient; in mixed case its EIP-55 checksum must be right. */
            payTo: string;
            scheme: "upto";
          };
          x402Version: 2;
        } | {
          paymentPayload: {
            accepted: {
              network: string;
              scheme: string;
            };
            extensions?: unknown;
            payload: Record<string, unknown>;
            resource?: unknown;
            x402Version: 2;
          };
          paymentRequirements: {
            scheme: string;
          } & Record<string, unknown>;
          x402Version: 2;
        };
      };
    };
    responses: {
      /**
       * @description On chain, or refused. With `success` false `errorReason` is one of:
       *
       *   - `unsupported_scheme`: The requirement asks for a scheme this facilitator does not settle.
       *   - `invalid_exact_evm_scheme`: The scheme the payer accepted is not `exact`.
       *   - `unsupported_payload_type`: The payload is of a kind that the scheme does not have, or that has no contracts on the network.
       *   - `invalid_network`: The network is unknown, or known but not served by this facilitator.
       *   - `invalid_exact_evm_network_mismatch`: The payer accepted another network than the requirement names.
       *   - `unsupported_asset`: The asset is not the stablecoin this facilitator settles on that network.
       *   - `invalid_exact_evm_missing_eip712_domain`: extra.name or extra.version is missing or empty.
       *   - `invalid_exact_evm_token_name_mismatch`: extra.name is not the token's EIP-712 name, which on Arc is `USDC` (not `USD Coin`, as on other chains) or `EURC`.
       *   - `invalid_exact_evm_token_version_mismatch`: extra.version is not the token's EIP-712 version.
       *   - `invalid_exact_evm_recipient_mismatch`: authorization.to is not payTo.
       *   - `invalid_exact_evm_payload_authorization_valid_before`: The authorization has expired or expires too soon to land.
       *   - `invalid_exact_evm_payload_authorization_valid_after`: The authorization is not valid yet.
       *   - `invalid_exact_evm_payload_authorization_value_mismatch`: authorization.value is not exactly the required amount.
       *   - `amount_below_minimum`: The amount is zero, below the minimum this facilitator settles, or what it moves does not bear its gas.
       *   - `invalid_pay_to`: payTo is the zero address, the payer, the token contract or a contract of `batch-settlement`.
       *   - `payer_not_allowed`: The payer is a relayer of this facilitator or blocked by its operator.
       *   - `pay_to_not_allowed`: The recipient is blocked by the operator of this facilitator.
       *   - `eip6492_factory_not_allowed`: The signature deploys a wallet (ERC-6492); no factory is allowed here.
       *   - `invalid_exact_evm_signature`: The signature is not the one the token would accept from the payer.
       *   - `invalid_exact_evm_nonce_already_used`: The authorization was used, cancelled, or already answered with success.
       *   - `payer_blocklisted`: The token blocks the payer.
       *   - `pay_to_blocklisted`: The token blocks the recipient.
       *   - `asset_paused`: The token is paused.
       *   - `invalid_exact_evm_insufficient_balance`: The payer's balance does not cover the amount.
       *   - `invalid_exact_evm_transaction_simulation_failed`: The simulated transfer reverted for a reason without a code of its own.
       *   - `invalid_permit2_spender`: The spender of the Permit2 authorization is not x402's proxy for the scheme.
       *   - `invalid_permit2_recipient_mismatch`: The witness of the Permit2 authorization does not pay payTo.
       *   - `permit2_deadline_expired`: The deadline of the Permit2 authorization has passed or is too near to land.
       *   - `permit2_not_yet_valid`: The witness of the Permit2 authorization is not valid yet.
       *   - `permit2_amount_mismatch`: The permitted amount is not the required amount.
       *   - `permit2_token_mismatch`: The permitted token is not the asset of the requirement.
       *   - `invalid_permit2_signature`: The Permit2 authorization is not signed by the payer, as Permit2 itself checks.
       *   - `permit2_invalid_nonce`: The nonce of the Permit2 authorization was used or cancelled, was settled with another amount, or was already answered with success.
       *   - `permit2_insufficient_balance`: The payer's balance does not cover the amount of a Permit2 authorization.
       *   - `permit2_allowance_required`: The payer has not approved Permit2 for the amount, and sent no permit (`eip2612GasSponsoring`).
       *   - `permit2_simulation_failed`: The simulated settlement by Permit2 reverted for a reason without a code of its own.
       *   - `invalid_upto_evm_scheme`: The scheme the payer accepted is not `upto`.
       *   - `invalid_upto_evm_network_mismatch`: The payer of an `upto` payment accepted another network than the requirement names.
       *   - `upto_facilitator_mismatch`: The witness names a wallet that is no relayer of this facilitator.
       *   - `invalid_upto_evm_payload_settlement_exceeds_amount`: Settle asks for more than the payer permitted.
       *   - `invalid_upto_evm_transaction_failed`: The `upto` payment did not land, without a more specific cause.
       *   - `invalid_eip2612_extension_format`: The permit in `eip2612GasSponsoring` is malformed.
       *   - `eip2612_from_mismatch`: The permit in `eip2612GasSponsoring` is not from the payer.
       *   - `eip2612_asset_mismatch`: The permit in `eip2612GasSponsoring` is for another token.
       *   - `eip2612_spender_not_permit2`: The permit in `eip2612GasSponsoring` does not approve Permit2.
       *   - `eip2612_deadline_expired`: The permit in `eip2612GasSponsoring` has expired or expires too soon to land.
       *   - `permit2_2612_amount_mismatch`: The permit in `eip2612GasSponsoring` approves another amount than the permitted one.
       *   - `gas_budget_exceeded`: A gas budget is spent: that of the payer or authorizer, that of accounts with code, or that of the day.
       *   - `gas_price_too_high`: The chain's base fee is above the cap the operator set.
       *   - `idempotency_key_conflict`: The Idempotency-Key was used with another payment.
       *   - `invalid_exact_evm_transaction_failed`: The transaction reverted, or could not be sent, without a more specific cause.
       *   - `invalid_exact_evm_transfer_event_mismatch`: The authorization was consumed on chain without the expected transfer.
       *   - `settlement_pending`: The outcome is not known yet; `transaction` names the one that was signed for the payment or that may have settled it, so settle again to wait on.
       *   - `invalid_batch_settlement_evm_scheme`: The scheme the payer accepted is not `batch-settlement`.
       *   - `invalid_batch_settlement_evm_network_mismatch`: For `batch-settlement`, the payer accepted another network than the requirement names.
       *   - `invalid_batch_settlement_evm_payload_type`: The type of the payload is unknown, or not one of verify (deposit, voucher, refund) or settle (deposit, claim, settle, enriched refund).
       *   - `invalid_batch_settlement_evm_channel_id_mismatch`: The channel id is not the EIP-712 digest of the channel configuration on this chain.
       *   - `invalid_batch_settlement_evm_receiver_mismatch`: The channel's receiver is not payTo.
       *   - `invalid_batch_settlement_evm_receiver_authorizer_mismatch`: extra.receiverAuthorizer is missing, zero, or not that of the channel.
       *   - `invalid_batch_settlement_evm_token_mismatch`: The channel's token is not the asset.
       *   - `invalid_batch_settlement_evm_withdraw_delay_mismatch`: The channel's withdrawDelay is not extra.withdrawDelay.
       *   - `invalid_batch_settlement_evm_withdraw_delay_out_of_range`: withdrawDelay is not between 900 and 2592000 seconds.
       *   - `invalid_batch_settlement_evm_voucher_signature`: The voucher is not signed by the channel's payerAuthorizer, or by the payer if there is none.
       *   - `invalid_batch_settlement_evm_channel_not_found`: The channel holds nothing: no deposit has landed.
       *   - `invalid_batch_settlement_evm_cumulative_exceeds_balance`: maxClaimableAmount is more than the channel holds, with the deposit if there is one.
       *   - `invalid_batch_settlement_evm_cumulative_below_claimed`: maxClaimableAmount is not above what was claimed already; for a refund, below it.
       *   - `invalid_batch_settlement_evm_insufficient_balance`: The payer's balance does not cover the deposit.
       *   - `invalid_batch_settlement_evm_missing_eip712_domain`: A deposit came without extra.name or extra.version.
       *   - `invalid_batch_settlement_evm_payload_authorization_valid_before`: The deposit's authorization has expired or expires too soon to land.
       *   - `invalid_batch_settlement_evm_payload_authorization_valid_after`: The deposit's authorization is not valid yet.
       *   - `invalid_batch_settlement_evm_receive_authorization_signature`: The deposit's authorization is not signed by the payer.
       *   - `invalid_batch_settlement_evm_eip6492_factory_not_allowed`: The deposit's signature deploys a wallet (ERC-6492); no factory is allowed here.
       *   - `invalid_batch_settlement_evm_deposit_simulation_failed`: The simulated deposit reverted.
       *   - `invalid_batch_settlement_evm_deposit_transaction_failed`: The deposit reverted on chain without a more specific cause.
       *   - `invalid_batch_settlement_evm_claim_simulation_failed`: The simulated claim reverted.
       *   - `invalid_batch_settlement_evm_claim_transaction_failed`: The claim reverted on chain without a more specific cause.
       *   - `nothing_to_claim`: Every total of the claim was claimed before; a transaction would change nothing.
       *   - `repeated_channel`: Several rows of the claim are of the same channel; send one row for each channel, with its highest total.
       *   - `invalid_batch_settlement_evm_settle_simulation_failed`: The simulated payout to the receiver reverted.
       *   - `invalid_batch_settlement_evm_settle_transaction_failed`: The payout to the receiver reverted on chain without a more specific cause.
       *   - `invalid_batch_settlement_evm_nothing_to_settle`: Everything claimed for this receiver and token was paid out before.
       *   - `invalid_batch_settlement_evm_refund_simulation_failed`: The simulated refund reverted, often because its nonce was used.
       *   - `invalid_batch_settlement_evm_refund_transaction_failed`: The refund reverted on chain without a more specific cause.
       *   - `invalid_batch_settlement_evm_refund_no_balance`: Nothing that is not claimed is left in the channel.
       *   - `invalid_batch_settlement_evm_authorizer_not_configured`: A claim or refund came without the receiverAuthorizer's signature; this facilitator signs none for others.
       */
      200: {
        content: {
          "application/json": components["schemas"]["SettleAnswer"];
        };
      };
    };
  };
  getSupported: {
    parameters: {
    };
    responses: {
      /** @description What is served. */
      200: {
        content: {
          "application/json": {
            extensions: string[];
            kinds: {
              extra: {
                assets: components["schemas"]["TakenAsset"][];
                /** @description How `exact` moves the tokens. */
                assetTransferMethods?: ("eip3009" | "permit2")[];
                /** @description The address that a payer of `upto` names, and that alone can settle: the multicall of the relayers, or one of them. */
                facilitatorAddress?: components["schemas"]["Address"];
              };
              network: components["schemas"]["Network"];
              scheme: string;
              x402Version: 2;
            }[];
            /** @description Relayer wallets by family of chains. */
            signers: Record<string, components["schemas"]["Address"][]>;
          };
        };
      };
    };
  };
  verifyPayment: {
    parameters: {
    };
    requestBody: {
      content: {
        "application/json": {
          paymentPayload: {
            accepted: {
              network: string;
              scheme: string;
            };
            extensions?: unknown;
            payload: {
              authorization: {
                from: string;
                nonce: string;
                to: string;
                validAfter: string;
                validBefore: string;
                value: string;
              };
              signature: string;
            };
            resource?: unknown;
            x402Version: 2;
          };
          paymentRequirements: {
            /** @description 6-decimal units. */
            amount: string;
            /** @description The stablecoin. */
            asset: string;
            /** @description The token's EIP-712 `name` and `version`. */
            extra?: Record<string, unknown> | null;
            /** @description The longest a settle waits, if it is below the limit of this service. */
            maxTimeoutSeconds: number;
            /** @description CAIP-2. */
            network: string;
            /** @description The recipient; in mixed case its EIP-55 checksum must be right. */
            payTo: string;
            scheme: "exact";
          };
          x402Version: 2;
        } | {
          paymentPayload: {
            accepted: {
              network: string;
              scheme: string;
            };
            extensions?: unknown;
            payload: {
              permit2Authorization: {
                /** @description The last second in which it can settle. */
                deadline: string;
                from: string;
                nonce: string;
                permitted: {
                  amount: string;
                  token: string;
                };
                /** @description x402's proxy for the scheme. */
                spender: string;
                witness: {
                  to: string;
                  validAfter: string;
                };
              };
              signature: string;
            };
            resource?: unknown;
            x402Version: 2;
          };
          paymentRequirements: {
            /** @description 6-decimal units. */
            amount: string;
            /** @description The stablecoin. */
            asset: string;
            /** @description The token's EIP-712 `name` and `version`. */
            extra?: Record<string, unknown> | null;
            /** @description The longest a settle waits, if it is below the limit of this service. */
            maxTimeoutSeconds: number;
            /** @description CAIP-2. */
            network: string;
            /** @description The recipient; in mixed case its EIP-55 checksum must be right. */
            payTo: string;
            scheme: "exact";
          };
          x402Version: 2;
        } | {
          paymentPayload: {
            accepted: {
              network: string;
              scheme: string;
            };
            extensions?: unknown;
            payload: {
              permit2Authorization: {
                /** @description The last second in which it can settle. */
                deadline: string;
                from: string;
                nonce: string;
                permitted: {
                  amount: string;
                  token: string;
                };
                /** @description x402's proxy for the scheme. */
                spender: string;
                witness: {
                  facilitator: string;
                  to: string;
                  validAfter: string;
                };
              };
              signature: string;
            };
            resource?: unknown;
            x402Version: 2;
          };
          paymentRequirements: {
            /** @description 6-decimal units. */
            amount: string;
            /** @description The stablecoin. */
            asset: string;
            /** @description The token's EIP-712 `name` and `version`. */
            extra?: Record<string, unknown> | null;
            /** @description The longest a settle waits, if it is below the limit of this service. */
            maxTimeoutSeconds: number;
            /** @description CAIP-2. */
            network: string;
            /** @description The recipient; in mixed case its EIP-55 checksum must be right. */
            payTo: string;
            scheme: "upto";
          };
          x402Version: 2;
        } | {
          paymentPayload: {
            accepted: {
              network: string;
              scheme: string;
            };
            extensions?: unknown;
            payload: Record<string, unknown>;
            resource?: unknown;
            x402Version: 2;
          };
          paymentRequirements: {
            scheme: string;
          } & Record<string, unknown>;
          x402Version: 2;
        };
      };
    };
    responses: {
      /**
       * @description Judged. With `isValid` false `invalidReason` is one of:
       *
       *   - `unsupported_scheme`: The requirement asks for a scheme this facilitator does not settle.
       *   - `invalid_exact_evm_scheme`: The scheme the payer accepted is not `exact`.
       *   - `unsupported_payload_type`: The payload is of a kind that the scheme does not have, or that has no contracts on the network.
       *   - `invalid_network`: The network is unknown, or known but not served by this facilitator.
       *   - `invalid_exact_evm_network_mismatch`: The payer accepted another network than the requirement names.
       *   - `unsupported_asset`: The asset is not the stablecoin this facilitator settles on that network.
       *   - `invalid_exact_evm_missing_eip712_domain`: extra.name or extra.version is missing or empty.
       *   - `invalid_exact_evm_token_name_mismatch`: extra.name is not the token's EIP-712 name, which on Arc is `USDC` (not `USD Coin`, as on other chains) or `EURC`.
       *   - `invalid_exact_evm_token_version_mismatch`: extra.version is not the token's EIP-712 version.
       *   - `invalid_exact_evm_recipient_mismatch`: authorization.to is not payTo.
       *   - `invalid_exact_evm_payload_authorization_valid_before`: The authorization has expired or expires too soon to land.
       *   - `invalid_exact_evm_payload_authorization_valid_after`: The authorization is not valid yet.
       *   - `invalid_exact_evm_payload_authorization_value_mismatch`: authorization.value is not exactly the required amount.
       *   - `amount_below_minimum`: The amount is zero, below the minimum this facilitator settles, or what it moves does not bear its gas.
       *   - `invalid_pay_to`: payTo is the zero address, the payer, the token contract or a contract of `batch-settlement`.
       *   - `payer_not_allowed`: The payer is a relayer of this facilitator or blocked by its operator.
       *   - `pay_to_not_allowed`: The recipient is blocked by the operator of this facilitator.
       *   - `eip6492_factory_not_allowed`: The signature deploys a wallet (ERC-6492); no factory is allowed here.
       *   - `invalid_exact_evm_signature`: The signature is not the one the token would accept from the payer.
       *   - `invalid_exact_evm_nonce_already_used`: The authorization was used, cancelled, or already answered with success.
       *   - `payer_blocklisted`: The token blocks the payer.
       *   - `pay_to_blocklisted`: The token blocks the recipient.
       *   - `asset_paused`: The token is paused.
       *   - `invalid_exact_evm_insufficient_balance`: The payer's balance does not cover the amount.
       *   - `invalid_exact_evm_transaction_simulation_failed`: The simulated transfer reverted for a reason without a code of its own.
       *   - `invalid_permit2_spender`: The spender of the Permit2 authorization is not x402's proxy for the scheme.
       *   - `invalid_permit2_recipient_mismatch`: The witness of the Permit2 authorization does not pay payTo.
       *   - `permit2_deadline_expired`: The deadline of the Permit2 authorization has passed or is too near to land.
       *   - `permit2_not_yet_valid`: The witness of the Permit2 authorization is not valid yet.
       *   - `permit2_amount_mismatch`: The permitted amount is not the required amount.
       *   - `permit2_token_mismatch`: The permitted token is not the asset of the requirement.
       *   - `invalid_permit2_signature`: The Permit2 authorization is not signed by the payer, as Permit2 itself checks.
       *   - `permit2_invalid_nonce`: The nonce of the Permit2 authorization was used or cancelled, was settled with another amount, or was already answered with success.
       *   - `permit2_insufficient_balance`: The payer's balance does not cover the amount of a Permit2 authorization.
       *   - `permit2_allowance_required`: The payer has not approved Permit2 for the amount, and sent no permit (`eip2612GasSponsoring`).
       *   - `permit2_simulation_failed`: The simulated settlement by Permit2 reverted for a reason without a code of its own.
       *   - `invalid_upto_evm_scheme`: The scheme the payer accepted is not `upto`.
       *   - `invalid_upto_evm_network_mismatch`: The payer of an `upto` payment accepted another network than the requirement names.
       *   - `upto_facilitator_mismatch`: The witness names a wallet that is no relayer of this facilitator.
       *   - `invalid_upto_evm_payload_settlement_exceeds_amount`: Settle asks for more than the payer permitted.
       *   - `invalid_upto_evm_transaction_failed`: The `upto` payment did not land, without a more specific cause.
       *   - `invalid_eip2612_extension_format`: The permit in `eip2612GasSponsoring` is malformed.
       *   - `eip2612_from_mismatch`: The permit in `eip2612GasSponsoring` is not from the payer.
       *   - `eip2612_asset_mismatch`: The permit in `eip2612GasSponsoring` is for another token.
       *   - `eip2612_spender_not_permit2`: The permit in `eip2612GasSponsoring` does not approve Permit2.
       *   - `eip2612_deadline_expired`: The permit in `eip2612GasSponsoring` has expired or expires too soon to land.
       *   - `permit2_2612_amount_mismatch`: The permit in `eip2612GasSponsoring` approves another amount than the permitted one.
       *   - `gas_budget_exceeded`: A gas budget is spent: that of the payer or authorizer, that of accounts with code, or that of the day.
       *   - `gas_price_too_high`: The chain's base fee is above the cap the operator set.
       *   - `invalid_batch_settlement_evm_scheme`: The scheme the payer accepted is not `batch-settlement`.
       *   - `invalid_batch_settlement_evm_network_mismatch`: For `batch-settlement`, the payer accepted another network than the requirement names.
       *   - `invalid_batch_settlement_evm_payload_type`: The type of the payload is unknown, or not one of verify (deposit, voucher, refund) or settle (deposit, claim, settle, enriched refund).
       *   - `invalid_batch_settlement_evm_channel_id_mismatch`: The channel id is not the EIP-712 digest of the channel configuration on this chain.
       *   - `invalid_batch_settlement_evm_receiver_mismatch`: The channel's receiver is not payTo.
       *   - `invalid_batch_settlement_evm_receiver_authorizer_mismatch`: extra.receiverAuthorizer is missing, zero, or not that of the channel.
       *   - `invalid_batch_settlement_evm_token_mismatch`: The channel's token is not the asset.
       *   - `invalid_batch_settlement_evm_withdraw_delay_mismatch`: The channel's withdrawDelay is not extra.withdrawDelay.
       *   - `invalid_batch_settlement_evm_withdraw_delay_out_of_range`: withdrawDelay is not between 900 and 2592000 seconds.
       *   - `invalid_batch_settlement_evm_voucher_signature`: The voucher is not signed by the channel's payerAuthorizer, or by the payer if there is none.
       *   - `invalid_batch_settlement_evm_channel_not_found`: The channel holds nothing: no deposit has landed.
       *   - `invalid_batch_settlement_evm_cumulative_exceeds_balance`: maxClaimableAmount is more than the channel holds, with the deposit if there is one.
       *   - `invalid_batch_settlement_evm_cumulative_below_claimed`: maxClaimableAmount is not above what was claimed already; for a refund, below it.
       *   - `invalid_batch_settlement_evm_insufficient_balance`: The payer's balance does not cover the deposit.
       *   - `invalid_batch_settlement_evm_missing_eip712_domain`: A deposit came without extra.name or extra.version.
       *   - `invalid_batch_settlement_evm_payload_authorization_valid_before`: The deposit's authorization has expired or expires too soon to land.
       *   - `invalid_batch_settlement_evm_payload_authorization_valid_after`: The deposit's authorization is not valid yet.
       *   - `invalid_batch_settlement_evm_receive_authorization_signature`: The deposit's authorization is not signed by the payer.
       *   - `invalid_batch_settlement_evm_eip6492_factory_not_allowed`: The deposit's signature deploys a wallet (ERC-6492); no factory is allowed here.
       *   - `invalid_batch_settlement_evm_deposit_simulation_failed`: The simulated deposit reverted.
       *   - `invalid_batch_settlement_evm_deposit_transaction_failed`: The deposit reverted on chain without a more specific cause.
       *   - `invalid_batch_settlement_evm_claim_simulation_failed`: The simulated claim reverted.
       *   - `invalid_batch_settlement_evm_claim_transaction_failed`: The claim reverted on chain without a more specific cause.
       *   - `nothing_to_claim`: Every total of the claim was claimed before; a transaction would change nothing.
       *   - `repeated_channel`: Several rows of the claim are of the same channel; send one row for each channel, with its highest total.
       *   - `invalid_batch_settlement_evm_settle_simulation_failed`: The simulated payout to the receiver reverted.
       *   - `invalid_batch_settlement_evm_settle_transaction_failed`: The payout to the receiver reverted on chain without a more specific cause.
       *   - `invalid_batch_settlement_evm_nothing_to_settle`: Everything claimed for this receiver and token was paid out before.
       *   - `invalid_batch_settlement_evm_refund_simulation_failed`: The simulated refund reverted, often because its nonce was used.
       *   - `invalid_batch_settlement_evm_refund_transaction_failed`: The refund reverted on chain without a more specific cause.
       *   - `invalid_batch_settlement_evm_refund_no_balance`: Nothing that is not claimed is left in the channel.
       *   - `invalid_batch_settlement_evm_authorizer_not_configured`: A claim or refund came without the receiverAuthorizer's signature; this facilitator signs none for others.
       */
      200: {
        content: {
          "application/json": components["schemas"]["VerifyAnswer"];
        };
      };
    };
  };
}
