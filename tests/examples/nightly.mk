# Each night: recommend, and where the decision is to change, build, smoke-test and swap.
#   make -f nightly.mk LOGS=/data/requests MODEL=encoder.onnx LIVE=/srv/encoder
LOGS      ?= logs
MODEL     ?= model.onnx
LIVE      ?= live
RECOMMEND ?= --store sqlite:////var/lib/tuner/tuner.db
BUILD     ?=
SMOKE     ?= trtexec --loadEngine=next/model.engine --duration=1
DEPLOYED  := $(wildcard $(LIVE)/current/profile.json)

.PHONY: nightly recommend release
nightly: recommend
	@case $$(python3 -c 'import tuner; print(tuner.load("next/profile.json").decision)') in \
	  change) $(MAKE) -f $(firstword $(MAKEFILE_LIST)) release ;; \
	  keep) echo "kept: $(LIVE)/current" ;; \
	  *) exit 1 ;; \
	esac

recommend:
	mkdir -p next
	tuner recommend --logs $(LOGS) --model $(MODEL) --out next/profile.json $(RECOMMEND) \
	  $(if $(DEPLOYED),--deployed $(DEPLOYED))

# Engine, document and settings become one folder, and `current` changes to it in one step.
release:
	tuner build next/profile.json --model $(MODEL) --out next/model.engine $(BUILD)
	$(SMOKE)
	set -e; new=$$(sha256sum next/model.engine | cut -c1-16); \
	mkdir -p $(LIVE)/$$new; cp next/profile.json next/model.engine next/model.engine.json $(LIVE)/$$new; \
	ln -s $$new $(LIVE)/next.$$$$; mv -T $(LIVE)/next.$$$$ $(LIVE)/current
	@echo "changed: $(LIVE)/current"
