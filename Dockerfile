# Keyturn in a container: about 230 MB, of which Debian is 75, Node 127, and Keyturn with its dependencies 29.
#
#   docker build -t keyturn .
#   docker build --build-arg NODE_IMAGE=node:24-slim@sha256:… --build-arg REVISION="$(git rev-parse HEAD)" -t keyturn .
#   docker run --rm --read-only -p 127.0.0.1:7420:7420 -p 127.0.0.1:7421:7421 keyturn
#
# With a file of settings:
#
#   docker run --rm --read-only -v "$PWD/keyturn.yaml:/etc/keyturn.yaml:ro" keyturn serve --config /etc/keyturn.yaml
#
# With durable queues, which that file names: a volume for the data directory.
#
#   docker run --rm --read-only -v keyturn-data:/var/lib/keyturn -e KEYTURN_DATA_DIR=/var/lib/keyturn \
#     -v "$PWD/keyturn.yaml:/etc/keyturn.yaml:ro" keyturn serve --config /etc/keyturn.yaml

# For amd64 and arm64 alike. A release gives it with its digest: `docker buildx imagetools inspect node:24-slim` tells it.
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY clients/typescript/package.json clients/typescript/
RUN npm ci --ignore-scripts
COPY tsconfig.json buf.yaml buf.gen.yaml ./
COPY proto proto
COPY clients/typescript clients/typescript
COPY console console
COPY src src
RUN npm run build:src

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY clients/typescript/package.json clients/typescript/
# Of what lmdb brings one binary is loaded here (Node-API, glibc); those for other systems and its sources are 15 MB.
# Source maps and declarations of types are 12 MB that no running program reads.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/lmdb/dependencies node_modules/lmdb/src \
      node_modules/@lmdb/*/node.abi*.node node_modules/@lmdb/*/*.musl.node && \
      find node_modules -type f '(' -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' ')' -delete
# The bill of materials of what was installed (CycloneDX). npm misses packages that only development needs, so that they go first.
RUN npm pkg delete devDependencies --include-workspace-root --workspace clients/typescript && \
      npm sbom --omit=dev --sbom-format=cyclonedx --sbom-type=application > sbom.cdx.json

# The image of Node alone takes 230 of the 250 MB. What only builders need goes; it would still be in the layers below,
# so that the last stage starts from nothing and copies what is left. The data directory is open to whoever runs the image,
# as /tmp is: a new volume takes its mode from it.
FROM ${NODE_IMAGE} AS runtime
RUN rm -rf /opt/yarn* /usr/local/include /usr/local/lib/node_modules /usr/local/share/doc /usr/local/share/man \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
      /usr/local/CHANGELOG.md /usr/local/README.md && \
    install -d -m 1777 /var/lib/keyturn

FROM scratch
COPY --from=runtime / /
WORKDIR /app
COPY package.json LICENSE ./
COPY proto proto
COPY --from=dependencies /app/node_modules node_modules
COPY --from=dependencies /app/sbom.cdx.json ./
# What `@keyturn/client` in there is a link to.
COPY clients/typescript/package.json clients/typescript/
COPY --from=build /app/clients/typescript/dist clients/typescript/dist
COPY --from=build /app/dist/src dist/src

# A container has a loopback of its own, so that what listens only there could be reached by nobody outside of it.
# Without settings there is no TLS, and nobody is asked who they are (KEYTURN_INSECURE: it would not start else): let only those in
# who may take turns (`auth` in a file of settings; KEYTURN_TLS_CERT, KEYTURN_TLS_KEY and KEYTURN_TLS_CLIENT_CA; or publish the ports on 127.0.0.1, a network of its own, a NetworkPolicy). In the pod of its worker,
# where the loopback is shared, set KEYTURN_LISTEN back to 127.0.0.1:7420; HTTP stays, or kubelet cannot reach it.
# Environment goes before the file: `listen` and `http_listen` of a file have no effect here.
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NODE_ENV=production \
    KEYTURN_LISTEN=0.0.0.0:7420 \
    KEYTURN_INSECURE=true \
    KEYTURN_HTTP_LISTEN=0.0.0.0:7421
EXPOSE 7420 7421

ARG REVISION=unknown
LABEL org.opencontainers.image.title="Keyturn" \
      org.opencontainers.image.description="A gRPC sidecar that gives every key its turn" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/keyturn/keyturn" \
      org.opencontainers.image.documentation="https://github.com/keyturn/keyturn/blob/main/docs/OPERATING.md"

# The user `node` by its number, which `runAsNonRoot` can check. Nothing is written but to the data directory, if there
# is one: the root may be read-only. No VOLUME, because who wants no data directory would be given a volume all the same.
USER 1000:1000

# Alive, not ready: a sidecar that drains must not be killed for it. HTTP has no TLS, whatever gRPC has.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://localhost:' + process.env.KEYTURN_HTTP_LISTEN.split(':').pop() + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["serve"]
