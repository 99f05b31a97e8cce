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
COPY packages/merchant/package.json packages/merchant/
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

FROM ${NODE_IMAGE} AS service
ENV NODE_ENV=production
WORKDIR /arcus
COPY --from=production-packages /arcus/node_modules ./node_modules
COPY --from=build /arcus/dist ./dist
COPY package.json ./
COPY migrations ./migrations
RUN mkdir data && chown node:node data
USER node
VOLUME /arcus/data
EXPOSE 4021
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 4021) + '/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/cli/serve.js"]
