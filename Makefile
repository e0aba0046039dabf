.PHONY: build test lint ci bench compare soak

build: ## the binary, in the working directory
	go build -o nightshift ./cmd/nightshift

test: ## all tests; those on real servers skip without Java and Maven
	go test ./...

lint:
	go vet ./... && golangci-lint run

ci: ## what a clean clone has to pass
	bash .ci/run

bench: ## recorder beside a bare histogram; client beside the bare library, on the stub
	go test -run '^$$' -bench . -benchmem ./soak ./soak/client/zookeeper ./soak/zookeeper

compare: ## ephemeral, closed loop, on three real servers: nightshift, bare library, kazoo, Java
	bash soak/zookeeper/compare/compare.sh

soak: ## the quickstart five times; each has to pass
	bash soak/night/plans/five.sh
