# Two images from one file: `service` runs Arcus, `devnet` runs the whole playground of `npm run dev`.

FROM node:22-bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 make g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /arcus
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build

FROM build AS devnet
ENV HOST=0.0.0.0
EXPOSE 4021 4022
CMD ["npm", "run", "dev"]

FROM build AS production-packages
RUN npm prune --omit=dev --omit=optional

FROM node:22-bookworm-slim AS service
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
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 4021) + '/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/cli/serve.js"]
