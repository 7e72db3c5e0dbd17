# syntax=docker/dockerfile:1
# Gleaner in a container:
#
#   docker build -t gleaner .
#   docker run --rm -v "$PWD/runs:/home/gleaner/runs" gleaner simulate
#
# The whole test suite installs the emulators and needs the network:
#
#   docker build --target test -t gleaner-test . && docker run --rm gleaner-test

FROM rust:1.95-bookworm AS source
WORKDIR /gleaner
COPY . .

# The README's second command.
FROM source AS test
RUN rustup component add clippy rustfmt
ENV CI=true CARGO_INCREMENTAL=0
CMD ["cargo", "xtask", "test"]

FROM source AS build
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/gleaner/target \
    cargo build --release --locked --package gleaner-host --bin gleaner \
    && install -D target/release/gleaner /out/bin/gleaner \
    && /out/bin/gleaner generate man --to /out/share/man/man1 \
    && install -d /out/share/bash-completion/completions \
    && /out/bin/gleaner generate completions bash > /out/share/bash-completion/completions/gleaner

# The README's first command: the program needs nothing but the C library.
FROM debian:bookworm-slim
COPY --from=build /out/ /usr/local/
RUN useradd --create-home --uid 1000 gleaner
USER 1000
WORKDIR /home/gleaner
ENTRYPOINT ["gleaner"]
CMD ["simulate"]
