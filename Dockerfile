# An image with nothing but the program, its certificates and an empty folder for SQLite. It runs as a user without rights, and its
# root file system may be read-only.
#
#   make image

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /source
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH COMMIT DATE
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.commit=$COMMIT -X main.date=$DATE" -o /image/openintent ./cmd/openintent \
    && mkdir -m 0700 /image/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /image/openintent /openintent
COPY --from=build --chown=65532:65532 /image/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
# Docker waits 10 seconds before it kills, so the server takes less. Without keys the server refuses to listen on these addresses.
ENV OPENINTENT_DATABASE_URL=sqlite:/data/openintent.db \
    OPENINTENT_HTTP_ADDR=0.0.0.0:8000 \
    OPENINTENT_GRPC_ADDR=0.0.0.0:50051 \
    OPENINTENT_STOP_TIMEOUT=8s
EXPOSE 8000 50051
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s CMD ["/openintent", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/openintent"]
CMD ["serve"]
