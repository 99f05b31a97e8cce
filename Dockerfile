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

FROM build AS production-packages
RUN npm prune --omit=dev --omit=optional
# Sources of what is compiled already, and maps that only a debugger reads.
RUN rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/build/Release/obj && find node_modules -name '*.map' -delete

# A list of all that the image holds, as CycloneDX in JSON: of packages installed and bundled, of Debian, and Node.
FROM ${NODE_IMAGE} AS inventory
WORKDIR /arcus
COPY package.json ./
COPY scripts/sbom.ts ./
COPY --from=production-packages /arcus/node_modules ./node_modules
COPY --from=build /arcus/dist ./dist
RUN node --no-warnings sbom.ts / > sbom.cdx.json

FROM ${NODE_IMAGE} AS service
# Revision and date are of each build: docs/operations.md, "In containers".
LABEL org.opencontainers.image.title="Arcus" org.opencontainers.image.version="0.1.0" org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.description="x402 payments on Arc: a self-hosted facilitator that verifies and settles stablecoin payments for paid HTTP APIs."
ENV NODE_ENV=production
WORKDIR /arcus
COPY --from=production-packages /arcus/node_modules ./node_modules
COPY --from=build /arcus/dist ./dist
COPY package.json ./
COPY migrations ./migrations
COPY --from=inventory /arcus/sbom.cdx.json ./
RUN mkdir data && chown node:node data
USER node
VOLUME /arcus/data
EXPOSE 4021
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 4021) + '/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/cli/arcus.js", "serve"]
