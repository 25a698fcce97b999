"""The page of 1,000 hosts in a real browser: it counts, narrows, opens, prints, fits a phone, and asks nobody."""
from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from probe.report import html, record
from tests.report.fleets import of
from tests.report.test_page import hostile

ROOT = Path(__file__).resolve().parents[2]
SIZE = 1000
PROTECTED = SIZE * 12 // 20
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}


def programs() -> tuple[str, str]:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not browser or not driver:
        pytest.skip("needs chromium and chromedriver to see the page (Debian: chromium chromium-driver)")
    return browser, driver


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The address of a page of 1,000 hosts, as a file."""
    pytest.importorskip("jinja2")
    file = tmp_path_factory.mktemp("page") / "fleet.html"
    file.write_text(html.page(of(SIZE)))
    return file.as_uri()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """Chromium without a network, all it says and asks for kept."""
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    browser, driver = programs()
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--window-size=1200,900",
                 f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


class Reader:
    """Somebody in front of the page."""

    def __init__(self, browser, address: str) -> None:
        self.browser = browser
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        if browser.current_url.split("#")[0] == address:
            self.reset()
        else:
            self.open(address)

    def open(self, address: str) -> None:
        self.browser.get("about:blank")
        for kind in ("browser", "performance"):
            self.browser.get_log(kind)
        self.browser.get(address)

    def run(self, script: str, *arguments):
        return self.browser.execute_script(script, *arguments)

    def choose(self, field: str, value: str) -> None:
        """As a person does: the field changes, and the page hears of it."""
        self.run("const field = document.forms[0].elements[arguments[0]]; field.value = arguments[1];"
                 "field.dispatchEvent(new Event('input', {bubbles: true}))", field, value)
        time.sleep(0.3)

    def reset(self) -> None:
        self.run("document.querySelector('button[type=reset]').click();"
                 "for (const row of document.querySelectorAll('details[open]')) row.open = false")
        time.sleep(0.2)

    def rows(self) -> list[str]:
        return self.run("return [...document.querySelectorAll('tbody')].filter((row) => row.offsetHeight)"
                        ".map((row) => row.rows[0].cells[0].textContent)")

    def said(self) -> str:
        return self.run("return document.getElementById('shown').textContent")

    def requests(self) -> list[str]:
        messages = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def reader(chromium, page):
    return Reader(chromium, page)


def test_it_shows_every_host_counts_right_and_asks_nobody_for_anything(reader, page):
    assert len(reader.rows()) == SIZE and reader.said() == f"{SIZE} of {SIZE} hosts"
    head = reader.run("return document.querySelector('.head').innerText")
    assert head.startswith(f"{PROTECTED} of {SIZE} hosts are protected")
    tiles = reader.run("return [...document.querySelectorAll('.tile b')].map((tile) => Number(tile.textContent))")
    assert sum(tiles) == SIZE and len(tiles) == len(record.STATES)
    assert [url for url in reader.requests() if url not in (page, "about:blank", "data:,")] == []
    assert reader.complaints() == []
    reader.run("fetch('https://example.invalid/').catch(() => 0)")  # that asking would be seen, and is refused
    time.sleep(0.2)
    assert any("Content Security Policy" in complaint for complaint in reader.complaints())


FILTERS = {
    ("state", "unprotected"): lambda host: host["state"] == "unprotected",
    ("verdict", "usable"): lambda host: host["verdict"] == "usable",
    ("verdict", "none"): lambda host: host["verdict"] is None,
    ("code", "DOCKER_SNAP_PATHS"): lambda host: "DOCKER_SNAP_PATHS" in host["codes"],
    ("distribution", "rhel 9.4"): lambda host: (host["distribution"] or {}).get("id") == "rhel",
    ("abi", "4"): lambda host: host["abi"] == 4,
    ("abi", "none"): lambda host: host["abi"] is None,
    ("text", "WS99 notes"): lambda host: host["name"].startswith("ws99") and any(
        server["server"] == "notes" for server in host["servers"]),
}


def test_each_filter_narrows_the_rows_to_what_it_says(reader):
    hosts = of(SIZE)["hosts"]
    for (field, value), fits in FILTERS.items():
        reader.choose(field, value)
        expected = [host["name"] for host in hosts if fits(host)]
        assert sorted(reader.rows()) == sorted(expected) != [], (field, value)
        assert reader.said() == f"{len(expected)} of {SIZE} hosts"
        reader.reset()
        assert len(reader.rows()) == SIZE
    reader.choose("text", "no such host")
    assert reader.rows() == [] and reader.said() == f"0 of {SIZE} hosts"


def test_the_address_keeps_what_is_chosen(reader):
    reader.choose("abi", "4")
    shown, address = reader.rows(), reader.browser.current_url
    reader.open(address)
    assert reader.rows() == shown and "abi=4" in address


def test_filters_add_up_and_a_tile_is_one(reader):
    reader.run("document.querySelector('.tile.partly').click()")
    time.sleep(0.3)
    assert len(reader.rows()) == 50
    reader.choose("text", "ws1")
    assert 0 < len(reader.rows()) < 50
    assert all("ws1" in name for name in reader.rows())


def test_a_hosts_evidence_and_remedies_are_one_step_deeper_and_reached_by_keyboard(reader):
    from selenium.webdriver.common.keys import Keys

    reader.choose("code", "LANDLOCK_OFF_AT_BOOT")
    row = next(row for row in reader.browser.find_elements("css selector", "tbody") if row.is_displayed())
    summary = row.find_element("css selector", "summary")
    assert "LANDLOCK_OFF_AT_BOOT" not in row.text and "not switched on at boot" in summary.text
    summary.send_keys(Keys.ENTER)
    for piece in ("LANDLOCK_OFF_AT_BOOT", "capability, yama, apparmor", "needs a reboot", "Undo:".lower()):
        assert piece in row.text
    summary.send_keys(Keys.ENTER)
    assert "needs a reboot" not in row.text


def test_a_phone_shows_it_without_scrolling_sideways(reader, page):
    reader.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    reader.open(page)
    width = "return [innerWidth, document.documentElement.scrollWidth]"
    assert reader.run(width) == [360, 360]
    reader.run("document.querySelectorAll('details').forEach((row, number) => { row.open = number % 25 < 2 })")
    assert reader.run(width) == [360, 360]
    small = reader.run("return [...document.querySelectorAll('input, select, button')]"
                       ".filter((field) => field.getBoundingClientRect().height < 40).length")
    assert small == 0, "a finger needs room"


def test_on_paper_it_is_what_is_shown_without_the_form(reader):
    reader.choose("state", "partly")
    reader.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert reader.run("return getComputedStyle(document.forms[0]).display") == "none"
    assert len(reader.rows()) == 50
    paper = reader.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"]
    pdf = base64.b64decode(paper)
    assert pdf.startswith(b"%PDF") and 1 < pdf.count(b"/Type /Page\n") < 12


def test_without_scripts_all_is_there_to_read(reader, page):
    reader.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        reader.open(page)
        assert not reader.browser.find_element("css selector", "form").is_displayed()
        summary = reader.browser.find_element("css selector", "tbody summary")
        summary.click()
        assert "Looked at" in reader.browser.find_element("css selector", "tbody details").text
    finally:
        reader.open("about:blank")
        reader.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_hostile_hosts_run_nothing_and_hide_nobody(reader, tmp_path):
    (tmp_path / "evil.html").write_text(html.page(hostile()))
    reader.open((tmp_path / "evil.html").as_uri())
    assert len(reader.rows()) == len(record.STATES)
    assert reader.complaints() == []
    assert [url for url in reader.requests() if not url.startswith(("file:", "about:", "data:"))] == []
    assert reader.run("return document.images.length + document.scripts.length") == 1


@pytest.fixture(scope="module")
def axe():
    """axe-core, which judges a page's accessibility, from its npm package."""
    folder = ROOT / ".lab" / "axe"
    source = folder / "node_modules/axe-core/axe.min.js"
    if not source.exists():
        if not shutil.which("npm"):
            pytest.skip("needs npm to bring axe-core")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        subprocess.run(["npm", "install", "--no-fund", "--no-audit", "--ignore-scripts", "axe-core"], cwd=folder,
                       check=True, capture_output=True, timeout=300)
    return source.read_text()


@pytest.mark.network
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_everybody_in_light_and_dark(reader, axe, tmp_path, scheme):
    """Contrast, names of fields, headings, tables: what a machine can judge of the WCAG at level AA."""
    (tmp_path / "small.html").write_text(html.page(of(20)))
    reader.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                   {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    reader.open((tmp_path / "small.html").as_uri())
    reader.run("document.querySelectorAll('details').forEach((row) => { row.open = true })")
    reader.browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
    found = reader.browser.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run(document).then((told) => done("
        "told.violations.map((rule) => [rule.id, rule.nodes[0].html, rule.nodes[0].failureSummary])))")
    assert found == []
