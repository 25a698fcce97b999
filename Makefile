# make enable   set up everything here and put this host's MCP servers under Landlock
# make test     set up everything here and run the tests
# make help     the other targets

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
PLAY_ARGS ?=
PYTEST_ARGS ?=
# How many documents hypothesis makes for each property of the editors.
export MCP_CONFINE_EXAMPLES ?= 2000

# What must be on the machine, as command:package of Debian.
NEED_BASE := git:git
NEED_TEST := $(NEED_BASE) node:nodejs npm:npm sshd:openssh-server ssh:openssh-client strace:strace bwrap:bubblewrap \
             ip:iproute2 useradd:passwd chromium:chromium chromedriver:chromium-driver

.DEFAULT_GOAL := help
.PHONY: help enable disable diagnose verify test test-kernels test-escape test-compat test-fleet test-fleet-100 test-nightly bench bench-fleet lint sanity clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

# Installs the packages that are missing, as root; as a user, says which.
define have
	@missing=; \
	for pair in $(1); do \
		PATH="$$PATH:/usr/sbin:/sbin" command -v "$${pair%%:*}" >/dev/null 2>&1 || missing="$$missing $${pair#*:}"; \
	done; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	[ -z "$$missing" ] && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	else \
		echo "Please install first:$$missing   (Debian: sudo apt-get install$$missing)" >&2; exit 1; \
	fi
endef

$(VENV)/enable: pyproject.toml
	$(call have,$(NEED_BASE))
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check '.[fleet,clients]'
	@touch $@

$(VENV)/test: pyproject.toml
	$(call have,$(NEED_TEST))
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check '.[fleet,clients,test,lint]'
	@touch $@ $(VENV)/enable

enable: $(VENV)/enable ## Put this host's MCP servers under Landlock (PLAY_ARGS='--check --diff' shows it first)
	$(BIN)/ansible-playbook playbooks/enable-landlock.yml $(PLAY_ARGS)

disable: $(VENV)/enable ## Give every client file back, byte for byte, and remove the wrapper
	$(BIN)/ansible-playbook playbooks/disable-landlock.yml $(PLAY_ARGS)

diagnose: $(VENV)/enable ## Say which isolation works here, and why or why not
	$(BIN)/ansible-playbook playbooks/diagnose.yml $(PLAY_ARGS)

verify: $(VENV)/enable ## Prove again that every confined server works and is denied the rest
	$(BIN)/ansible-playbook playbooks/verify-denial.yml $(PLAY_ARGS)

test: $(VENV)/test ## All tests but the kernel lab and the fleet lab
	$(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

test-nightly: export MCP_CONFINE_EXAMPLES := 100000
test-nightly: export MCP_CONFINE_ROUNDS := 1000
test-nightly: export MCP_CONFINE_KILLS := 500
test-nightly: $(VENV)/test ## The clients' files at length: 100,000 documents a format, 1,000 rounds against a writer, 500 kills
	$(BIN)/python -m pytest -n 2 --dist load tests/clients/test_edit_properties.py tests/clients/test_file_replacement.py $(PYTEST_ARGS)

test-kernels: $(VENV)/test ## Boot Debian's kernels under QEMU and prove the promises there (SERIES='6.1 7.1' for some)
	$(call have,qemu-system-x86_64:qemu-system-x86 cpio:cpio debootstrap:debootstrap)
	$(BIN)/python -m pytest tests/kernels $(if $(SERIES),--series '$(SERIES)') $(PYTEST_ARGS)

test-escape: $(VENV)/test ## Every way out that is known, tried without the wrapper and then with it
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/escape $(PYTEST_ARGS)

test-compat: $(VENV)/test ## What worked still works: launchers, runtimes, version managers, TLS, sqlite, git, under the wrapper
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/compat $(PYTEST_ARGS)

test-fleet: $(VENV)/test ## Ten hosts over ssh on this machine, in every state that hosts are found in, and containers (as root)
	$(call have,debootstrap:debootstrap dockerd:docker.io)
	$(call have,docker:docker-cli)
	$(BIN)/python -m pytest tests/fleet $(PYTEST_ARGS)

test-fleet-100: export MCP_CONFINE_HOSTS := $(or $(HOSTS),100)
test-fleet-100: $(VENV)/test ## The same over a hundred healthy hosts (HOSTS=40 for fewer)
	$(call have,debootstrap:debootstrap)
	$(BIN)/python -m pytest tests/fleet -k many_hosts $(PYTEST_ARGS)

bench-fleet: $(VENV)/test ## A run without a change against four pings, over 10 and 100 hosts (HOSTS='10 100')
	$(call have,debootstrap:debootstrap)
	$(BIN)/python tests/bench/fleet.py $(HOSTS)

bench: $(VENV)/test ## Start-up and throughput as ratios, in one run
	$(BIN)/python tests/bench/start.py

lint: $(VENV)/test ## ruff, mypy, yamllint and ansible-lint
	$(BIN)/ruff check probe library roles tests
	$(BIN)/mypy
	$(BIN)/yamllint --strict playbooks roles inventory meta galaxy.yml
	$(BIN)/ansible-lint --offline --profile production playbooks roles

sanity: $(VENV)/test ## ansible-test sanity over the built collection
	$(call have,shellcheck:shellcheck)
	$(BIN)/python meta/sanity.py

clean: ## Remove what the targets made here
	rm -rf $(VENV) .lab build *.egg-info
