# The image of the manager, for those with a container engine: docker build . --platform linux/amd64,linux/arm64
# make image makes the same without one. With --build-arg PROGRAM=kubectl-fedquota it is the image that config/view runs.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY config config
COPY controllers controllers
COPY internal internal
COPY webhooks webhooks
ARG TARGETOS TARGETARCH VERSION=unknown COMMIT=unknown IMAGE PROGRAM=manager
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.version=$VERSION -X main.commit=$COMMIT -X main.image=$IMAGE" -o /manager ./cmd/$PROGRAM

FROM scratch
COPY --from=build /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
