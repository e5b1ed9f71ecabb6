"""browser.py - a page in a real, headless Chromium that has no network, and what it was seen to do.

    with Browser() as browser:
        page = browser.open(path, width=400, scheme="dark")
        page.text, page.console, page.requests
"""
import json
import os
import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"]

# The least contrast (WCAG 2.1, 1.4.3) of any visible text against what is painted behind it, and that text.
CONTRAST = """
function channels(c) {
  let m = c.match(/[\\d.]+/g).map(Number);
  return m.length < 4 ? [m[0], m[1], m[2], 1] : m;
}
function over(top, below) { return [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat([1]); }
function luminance(c) {
  let [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : Math.pow((v + .055) / 1.055, 2.4); });
  return .2126 * r + .7152 * g + .0722 * b;
}
function ground(e) {
  let layers = [];
  for (; e; e = e.parentElement) layers.push(channels(getComputedStyle(e).backgroundColor));
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
}
let least = [99, ""], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let n; n = walker.nextNode();) {
  let e = n.parentElement;
  if (!n.data.trim() || e.closest("svg, .hidden, .skip") || !e.checkVisibility()) continue;
  let g = ground(e), a = luminance(over(channels(getComputedStyle(e).color), g)), b = luminance(g);
  let ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < least[0]) least = [ratio, n.data.trim().slice(0, 60) + " in " + e.tagName + "." + e.className];
}
return least;
"""


class Page:
    def __init__(self, driver, path, width, scheme, media):
        self.driver, self.width = driver, width
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                               {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        driver.get_log("performance")
        driver.get_log("browser")
        driver.get(Path(path).resolve().as_uri())
        events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        self.requests = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        self.requests = [url for url in self.requests if not url.startswith(("file://" + str(Path(path).resolve()), "data:"))]
        self.console = [entry["message"] for entry in driver.get_log("browser")]

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    @property
    def text(self):
        return self.run("return document.body.innerText")

    def all_text(self):
        """Also what is folded away."""
        return self.run("return document.body.textContent")

    def select(self, css):
        return self.driver.find_elements("css selector", css)

    def widest(self):
        """How wide the page is that does not fit into the window; None when it fits."""
        wide = self.run("return document.documentElement.scrollWidth")
        return wide if wide > self.width else None

    def contrast(self):
        return self.run(CONTRAST)

    def unfold(self):
        self.run("document.querySelectorAll('details').forEach(d => d.open = true)")

    def tab(self, most):
        """The elements that the tabulator key reaches, as 'A#rules' or 'SUMMARY', and how many of them look focused."""
        seen, outlined = [], 0
        for _ in range(most):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            seen.append(self.run("let e = document.activeElement;"
                                 "return e.tagName + (e.getAttribute('href') || (e.tabIndex == 0 && e.tagName == 'DIV' ? '.' : ''))"))
            if seen[-1] == "BODY":
                break
            outlined += self.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
        return seen, outlined


class Browser:
    def __enter__(self):
        self.profile = tempfile.mkdtemp()
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ.get("ASSAY_CHROMIUM", "/usr/bin/chromium")
        for flag in FLAGS + ["--user-data-dir=" + self.profile]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = os.environ.get("ASSAY_CHROMEDRIVER", "/usr/bin/chromedriver")
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.set_page_load_timeout(60)
        return self

    def open(self, path, width=1600, scheme="light", media="screen"):
        return Page(self.driver, path, width, scheme, media)

    def pdf(self):
        """The open page as it is printed."""
        return self.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]

    def __exit__(self, *_):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)
