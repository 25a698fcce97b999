"""The content as others take it: built into a collection, called by its full names, documented by its own specs."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from playground import ANSIBLE, ROOT

MODULES = ("landlock_boot", "landlock_probe", "mcp_confine", "mcp_denial_check", "mcp_launch_config", "mcp_metrics",
           "mcp_settled")
ON_THE_CONTROLLER = ("mcp_fleet_report",)  # an action alone; the module beside it is its documentation


@pytest.fixture(scope="module")
def collections(tmp_path_factory):
    """The folder into which the built collection was installed, as from anywhere else."""
    folder = tmp_path_factory.mktemp("collection")
    subprocess.run([sys.executable, ROOT / "meta" / "build_collection.py", folder / "build"], check=True,
                   capture_output=True, cwd=folder)
    [archive] = (folder / "build").glob("*.tar.gz")
    subprocess.run([ANSIBLE / "ansible-galaxy", "collection", "install", "--offline", "-p", folder / "installed",
                    archive], check=True, capture_output=True, cwd=folder, env={**os.environ, "HOME": str(folder)})
    return folder / "installed"


def test_the_collections_playbook_does_the_same_by_its_full_name(collections, people, place):
    [person] = people()
    file = person.claude({"notes": person.server()})
    before = file.read_bytes()
    (place / "inventory.json").write_text(json.dumps({"all": {"hosts": {"this": {
        "ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}}}}))
    values = {"mcp_confine_prefix": str(place / "prefix"), "mcp_confine_users": [person.name]}

    def play(name: str) -> str:
        done = subprocess.run(
            [ANSIBLE / "ansible-playbook", "-i", place / "inventory.json", f"mcp_confine.landlock.{name}", "-e",
             json.dumps(values)], capture_output=True, text=True, cwd=place, check=False, stdin=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(place), "ANSIBLE_COLLECTIONS_PATH": str(collections)})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "1 confined, 0 not" in play("enable_landlock")
    [reported] = json.loads((place / "reports/fleet.json").read_text())["hosts"]
    assert reported["state"] == "protected" and (place / "reports/fleet.html").exists()
    again = play("enable_landlock")
    assert "changed=0" in again, again
    play("verify_denial")
    play("disable_landlock")
    assert file.read_bytes() == before


def test_the_collection_holds_what_it_needs_and_nothing_else(collections):
    place = collections / "ansible_collections" / "mcp_confine" / "landlock"
    assert {path.name for path in place.iterdir()} >= {"plugins", "roles", "playbooks", "meta", "README.md"}
    shipped = {path.stem for path in (place / "plugins" / "modules").glob("*.py")}
    assert shipped == {*MODULES, *ON_THE_CONTROLLER}
    assert not list(place.rglob("*.pyc")) and not (place / ".venv").exists()


@pytest.mark.parametrize("name", MODULES)
def test_a_modules_documentation_and_its_argument_spec_say_the_same(name):
    text = (ROOT / "library" / f"{name}.py").read_text()
    blocks = {block: yaml.safe_load(re.search(rf'^{block} = r"""(.*?)"""', text, re.DOTALL | re.MULTILINE)[1])
              for block in ("DOCUMENTATION", "EXAMPLES", "RETURN")}
    assert blocks["EXAMPLES"] and blocks["RETURN"]
    done = subprocess.run([ANSIBLE / "ansible-doc", "--json", name], capture_output=True, text=True, check=True,
                          env={**os.environ, "ANSIBLE_LIBRARY": str(ROOT / "library")})
    documented = json.loads(done.stdout)[name]["doc"]["options"]
    assert set(documented) == set(blocks["DOCUMENTATION"]["options"])
    assert specification(name) == {
        option: (row.get("type"), row.get("default"), row.get("choices")) for option, row in documented.items()}


def specification(name: str) -> dict[str, tuple]:
    """The argument spec that the module hands to Ansible, asked from the module itself."""
    script = f"""
import json, runpy, sys
sys.path.insert(0, {str(ROOT)!r})
import ansible.module_utils, ansible.module_utils.basic as basic
ansible.module_utils.__path__.append({str(ROOT)!r})
def ask(argument_spec, **_):
    print(json.dumps(argument_spec)); raise SystemExit
basic.AnsibleModule = ask
import ansible.modules
ansible.modules.__path__.append({str(ROOT / "library")!r})
runpy.run_module("ansible.modules.{name}", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/")
    spec = json.loads(done.stdout)
    return {option: (row["type"], row.get("default"), row.get("choices")) for option, row in spec.items()}


@pytest.mark.parametrize("name", ["landlock_boot", "mcp_confine"])
def test_every_variable_of_a_role_has_a_default_and_a_description(name):
    role = ROOT / "roles" / name
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text())
    entries = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    for point, entry in entries.items():
        assert {option: row["default"] for option, row in entry["options"].items()} == defaults, point
        assert all(row["description"] for row in entry["options"].values())
    for playbook in (ROOT / "playbooks").glob("*.yml"):
        called = yaml.safe_load(playbook.read_text())[0]["tasks"][0]["ansible.builtin.import_role"]
        assert called["name"] != name or called["tasks_from"] in entries


def test_a_module_ships_every_file_that_it_may_import(place):
    """What is chosen at run time must still be found by reading the sources, or it is missing on the host."""
    (place / "inventory.json").write_text(json.dumps({"all": {"hosts": {"this": {
        "ansible_connection": "local", "ansible_remote_tmp": str(place / "tmp")}}}}))
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "HOME": str(place),
                   "ANSIBLE_PIPELINING": "0", "ANSIBLE_KEEP_REMOTE_FILES": "1"}
    subprocess.run([ANSIBLE / "ansible", "this", "-i", place / "inventory.json", "-m", "mcp_launch_config", "--check",
                    "-a", "users=root"], check=True, capture_output=True, cwd=place, env=environment)
    [payload] = pathlib.Path(place, "tmp").rglob("AnsiballZ_mcp_launch_config.py")
    subprocess.run(["/usr/bin/python3", payload, "explode"], check=True, capture_output=True, cwd=place)
    [shipped] = pathlib.Path(payload.parent, "debug_dir").rglob("module_utils/probe")
    for room in ("clients", "confine"):
        wanted = {path.name for path in (ROOT / "probe" / room).glob("*.py")} - {"page.py"}  # it writes documentation
        assert {path.name for path in (shipped / room).glob("*.py")} == wanted
