# Two images from one file: `service` runs Arcus, `devnet` runs the whole playground of `npm run dev`.
# The tag names a release; to pin its bytes too, look the digest up where there is a registry and build with
#   docker buildx imagetools inspect node:22.23.3-bookworm-slim
#   docker build --build-arg NODE_IMAGE=node@sha256:... .
ARG NODE_IMAGE=node:22.23.3-bookworm-slim

FROM ${NODE_IMAGE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 make g++ && rm -rf /var/lib/apt/lists/*
# What must be compiled finds the headers of this very Node in the image.
ENV npm_config_nodedir=/usr/local
WORKDIR /arcus
COPY package.json package-lock.json ./
COPY packages/client/package.json packages/client/
COPY packages/merchant/package.json packages/merchant/
COPY packages/protocol/package.json packages/protocol/
RUN npm ci
COPY . .
RUN npm run build

FROM build AS devnet
ENV HOST=0.0.0.0
USER node
EXPOSE 4021 4022
CMD ["npm", "run", "dev"]

FROM build AS layout
ARG REVISION
RUN node --import tsx scripts/layout.ts /layout

# A list of all that the image holds, as CycloneDX in JSON: of packages installed and bundled, of Debian, and Node.
FROM ${NODE_IMAGE} AS inventory
COPY scripts/sbom.ts ./
COPY --from=layout /layout /arcus
RUN node --no-warnings sbom.ts /arcus / > sbom.cdx.json && mv sbom.cdx.json /arcus/

FROM ${NODE_IMAGE} AS service
# Version, revision and date are of each build: docs/releasing.md.
LABEL org.opencontainers.image.title="Arcus" org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.description="x402 payments on Arc: a self-hosted facilitator that verifies and settles stablecoin payments for paid HTTP APIs."
ENV NODE_ENV=production
WORKDIR /arcus
COPY --from=inventory /arcus ./
RUN ln -s /arcus/bin/arcus /usr/local/bin/arcus && mkdir data && chown node:node data
USER node
VOLUME /arcus/data
EXPOSE 4021
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 4021) + '/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["arcus"]
CMD ["serve"]
